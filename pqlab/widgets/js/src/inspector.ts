// The inspector in a notebook: chrome, the screen that the kernel says, the slice bar.

import { button, h, replace } from "./dom";
import { Link, type Model } from "./link";
import type { View } from "./messages";
import { chunk } from "./screens/chunk";
import { column } from "./screens/column";
import { grid } from "./screens/grid";
import { overview } from "./screens/overview";
import type { Screen } from "./screens/screen";
import { sliceBar } from "./slice";

const MAKERS = { overview, grid, column, chunk };
const KEYS = "arrows move · Shift+arrows pick · Enter opens · Esc clears · / filters";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const link = new Link(model);
  const made = new Map<View["screen"], Screen<unknown>>();
  const identity = h("div", { class: "pq-identity" });
  const crumbs = h("nav", { class: "pq-crumbs", "aria-label": "Where you are" });
  const main = h("main", {}, h("p", { class: "pq-muted" }, "waiting for the kernel…"));
  const slice = sliceBar(link);
  const root = h(
    "div",
    { class: "pq-inspector", "data-lm-suppress-shortcuts": "true", on: { keydown } },
    identity,
    crumbs,
    main,
    slice.element,
    h("div", { class: "pq-keys pq-muted" }, KEYS),
  );
  let screen: Screen<unknown> | null = null;

  link.on("view", (view) => {
    replace(
      identity,
      h("strong", { title: view.identity.title }, view.identity.title),
      h("span", { class: "pq-muted" }, view.identity.subtitle),
      h("span", { class: "pq-figures" }, ...view.identity.figures.map(([figure, noun]) => h("span", {}, h("b", {}, figure), ` ${noun}`))),
    );
    replace(
      crumbs,
      h("span", { class: "pq-tabs", role: "tablist" }, tab(view, "overview", "Overview"), tab(view, "grid", "Grid")),
      ...view.crumbs.slice(1).flatMap((crumb) => [
        h("span", { class: "pq-muted", "aria-hidden": "true" }, " › "),
        button(crumb.label, () => link.go(crumb.go), { class: "pq-link", "data-name": `crumb ${crumb.label}` }),
      ]),
    );
    const next = made.get(view.screen) ?? (MAKERS[view.screen](link) as Screen<unknown>);
    made.set(view.screen, next);
    if (next !== screen) main.replaceChildren(next.element);
    screen = next;
    root.dataset["screen"] = view.screen;
    next.update(view.body);
  });
  link.on("rows", (rows) => screen?.rows(rows));
  link.on("slice", () => slice.draw());
  link.on("run", () => slice.draw());
  link.on("copy", slice.copied);
  link.on("error", (message) => slice.failed(message.error));
  el.append(root);
  link.open();

  function tab(view: View, name: View["screen"], label: string): HTMLElement {
    return button(label, () => link.go({ screen: name }), {
      role: "tab",
      "data-name": `screen ${name}`,
      "aria-selected": String(view.screen === name),
    });
  }

  function keydown(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === "/" && !isTyping && screen?.search !== undefined) {
      screen.search();
      event.preventDefault();
    }
    event.stopPropagation();
  }

  return () => {
    for (const each of made.values()) each.close();
    link.close();
  };
}

export default { render };
