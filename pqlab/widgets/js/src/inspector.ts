// The inspector in a notebook: chrome, the screen that the kernel says, the slice bar.

import { button, focusIn, h, keepKeys, replace, tabs } from "./dom";
import { Link, type Model } from "./link";
import type { View } from "./messages";
import { chunk } from "./screens/chunk";
import { compare } from "./screens/compare";
import { column } from "./screens/column";
import { grid } from "./screens/grid";
import { overview } from "./screens/overview";
import { timing, type TimingScreen } from "./screens/timing";
import { isPanel, renderPanel } from "./panel";
import type { Keys, Screen } from "./screens/screen";
import { sliceBar } from "./slice";

const MAKERS = { overview, grid, column, chunk, timing, compare };
const RESTARTED = "The kernel was restarted, or is gone: run the cell again to go on. What you see is what was read before.";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const link = new Link(model);
  const made = new Map<View["screen"], Screen<unknown>>();
  const identity = h("div", { class: "pq-identity" });
  const tablist = h("span", { class: "pq-tabs", "aria-label": "Screens" });
  const way = h("span", { class: "pq-way" });
  const crumbs = h("nav", { class: "pq-crumbs", "aria-label": "Where you are" }, tablist, way);
  const main = h("main", {}, h("p", { class: "pq-muted" }, "waiting for the kernel…"));
  const slice = sliceBar(link);
  const notice = h("div", {});
  const keyBar = h("div", { class: "pq-key-bar pq-muted", "aria-label": "Keys" });
  const root = h(
    "div",
    { class: "pq-inspector", on: { keydown, keyup: drawKeys, pointerup: drawKeys } },
    identity,
    crumbs,
    main,
    slice.element,
    notice,
    keyBar,
  );
  let screen: Screen<unknown> | null = null;
  const shortcuts: { [key: string]: [does: string, press: () => void] } = {
    "1": ["overview", () => link.go({ screen: "overview" })],
    "2": ["grid", () => link.go({ screen: "grid" })],
    "3": ["timing", () => link.go({ screen: "timing" })],
    "4": ["compare", () => link.go({ screen: "compare" })],
    Backspace: ["up", () => link.view?.up != null && link.go(link.view.up)],
    r: ["read", () => link.read()],
    c: ["copy code", () => link.copy("code")],
    m: ["copy %pqread", () => link.copy("magic")],
  };

  link.on("view", (view) => {
    const hadFocus = focusIn(root) !== null;
    replace(
      identity,
      h("strong", { title: view.identity.title }, view.identity.title),
      h("span", { class: "pq-muted", title: view.identity.subtitle }, view.identity.subtitle),
      h("span", { class: "pq-figures" }, ...view.identity.figures.map(([figure, noun]) => h("span", {}, h("b", {}, figure), ` ${noun}`))),
    );
    tabs(
      tablist,
      [
        { name: "overview", label: "Overview", go: () => link.go({ screen: "overview" }) },
        { name: "grid", label: "Grid", go: () => link.go({ screen: "grid" }) },
        { name: "timing", label: "Timing", go: () => link.go({ screen: "timing" }) },
        { name: "compare", label: "Compare", go: () => link.go({ screen: "compare" }) },
      ],
      view.screen,
    );
    replace(
      way,
      ...(view.up === null ? [] : view.crumbs).flatMap((crumb, place) => [
        place > 0 && h("span", { class: "pq-muted", "aria-hidden": "true" }, "›"),
        button(crumb.label, () => link.go(crumb.go), {
          class: "pq-link",
          title: crumb.label,
          "data-name": `crumb ${place}`,
          "aria-current": place === view.crumbs.length - 1 ? "location" : undefined,
        }),
      ]),
    );
    const next = made.get(view.screen) ?? (MAKERS[view.screen](link) as Screen<unknown>);
    made.set(view.screen, next);
    const isOther = next !== screen;
    if (isOther) main.replaceChildren(next.element);
    screen = next;
    root.dataset["screen"] = view.screen;
    next.update(view.body);
    if (isOther) next.enter?.();
    if (hadFocus && focusIn(root) === null) next.focus();
    drawKeys();
  });
  link.on("rows", (rows) => screen?.rows(rows));
  link.on("marks", (marks) => (screen as TimingScreen | null)?.marks?.(marks));
  link.on("slice", () => slice.draw());
  link.on("run", () => slice.draw());
  link.on("copy", slice.copied);
  link.on("error", (message) => slice.failed(message.error));
  link.whenItsLifeChanges((isAlive) => replace(notice, !isAlive && h("div", { class: "pq-notice", role: "alert" }, `⚠ ${RESTARTED}`)));
  keepKeys(root);
  el.append(root);
  link.open();

  function drawKeys(): void {
    const everywhere: Keys = Object.entries(shortcuts).map(([key, [does]]) => [key, does]);
    const isTop = (link.view?.up ?? null) === null;
    const live = [...(screen?.keys() ?? []), ...everywhere.filter(([key]) => key !== "Backspace" || !isTop)];
    replace(keyBar, ...live.map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does}`)));
  }

  function keydown(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    const shortcut = shortcuts[event.key];
    const isPlain = !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain && event.key === "/" && screen?.search !== undefined) {
      screen.search();
      event.preventDefault();
    } else if (isPlain && shortcut !== undefined) {
      shortcut[1]();
      event.preventDefault();
    } else if (isTyping && event.key === "Escape") {
      screen?.focus();
      event.preventDefault();
    }
    event.stopPropagation();
  }

  return () => {
    for (const each of made.values()) each.close();
    link.close();
  };
}

/** While a view is there, the output that stands for it where no scripts run is not. */
function inPlaceOf(staticId: string): HTMLElement {
  const output = `[data-pqlab="${CSS.escape(staticId)}"]`;
  return h("style", {}, `${output} { display: none }\n.jp-OutputArea-child:has(${output}) { display: none }`);
}

export default {
  render(context: { model: Model; el: HTMLElement }): () => void {
    context.el.append(inPlaceOf(context.model.get("static_id") ?? ""));
    return (isPanel(context.model.get("part")) ? renderPanel : render)(context);
  },
};
