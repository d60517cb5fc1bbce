// A panel that stands alone: one screen, without what belongs to a file.

import { h, replace, type Child } from "./dom";
import { Link, type Model } from "./link";
import type { Failure } from "./messages";
import { timing } from "./screens/timing";
import { failure } from "./slice";

export function renderPanel({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const link = new Link(model);
  const screen = timing(link);
  const identity = h("div", { class: "pq-identity" });
  const problem = h("div", {});
  const keys = h("div", { class: "pq-keys pq-muted", "aria-label": "Keys" }, ...screen.keys().map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does}`)));
  const root = h(
    "div",
    { class: "pq-inspector", "data-lm-suppress-shortcuts": "true", on: { keydown: (event: KeyboardEvent) => event.stopPropagation() } },
    identity,
    h("main", {}, problem, screen.element),
    keys,
  );
  const fail = (error: Failure | null): Child[] => [error !== null && failure(error)];
  link.on("view", (view) => {
    replace(problem);
    replace(identity, h("strong", {}, view.identity.title), h("span", { class: "pq-muted", title: view.identity.subtitle }, view.identity.subtitle));
    if (view.screen === "timing") screen.update(view.body);
  });
  link.on("rows", (rows) => screen.rows(rows));
  link.on("marks", (marks) => screen.marks(marks));
  link.on("error", (message) => replace(problem, ...fail(message.error)));
  el.append(root);
  link.open();
  return () => {
    screen.close();
    link.close();
  };
}
