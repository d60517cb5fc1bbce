// A panel that stands alone: one screen, without what belongs to a file.

import { h, keepKeys, replace } from "./dom";
import { Link, type Model } from "./link";
import { compare } from "./screens/compare";
import type { Screen } from "./screens/screen";
import { timing, type TimingScreen } from "./screens/timing";
import { failure } from "./slice";

const MAKERS = { timing, compare };
const LOST = "The kernel was restarted, or is gone: run the cell again to go on.";

export const isPanel = (part: string | undefined): part is keyof typeof MAKERS => part !== undefined && part in MAKERS;

export function renderPanel({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const link = new Link(model);
  const part = model.get("part");
  const screen = MAKERS[isPanel(part) ? part : "timing"](link) as Screen<unknown>;
  const identity = h("div", { class: "pq-identity" });
  const problem = h("div", {});
  const notice = h("div", {});
  const keys = h("div", { class: "pq-key-bar pq-muted", "aria-label": "Keys" }, ...screen.keys().map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does}`)));
  const root = h(
    "div",
    { class: "pq-inspector", on: { keydown: (event: KeyboardEvent) => event.stopPropagation() } },
    identity,
    h("main", {}, problem, screen.element),
    notice,
    keys,
  );
  link.on("view", (view) => {
    replace(problem);
    replace(identity, h("strong", {}, view.identity.title), h("span", { class: "pq-muted", title: view.identity.subtitle }, view.identity.subtitle));
    root.dataset["screen"] = view.screen;
    screen.update(view.body);
  });
  link.on("rows", (rows) => screen.rows(rows));
  link.on("marks", (marks) => (screen as TimingScreen).marks?.(marks));
  link.on("error", (message) => replace(problem, message.error !== null && failure(message.error)));
  link.whenItsLifeChanges((isAlive) => replace(notice, !isAlive && h("div", { class: "pq-notice", role: "alert" }, `⚠ ${LOST}`)));
  keepKeys(root);
  el.append(root);
  link.open();
  return () => {
    screen.close();
    link.close();
  };
}
