// The file at a glance: where its bytes are, what is odd, its schema, its keys.

import { button, h, replace } from "../dom";
import type { Link } from "../link";
import type { OverviewBody, Part, SchemaRow } from "../messages";
import type { Screen } from "./screen";

const HEADS = ["name", "type", "codec and encodings", "nulls", "compressed", "ratio"];
let trees = 0;

export function overview(link: Link): Screen<OverviewBody> {
  const number = trees++;
  const element = h("div", { class: "pq-screen pq-overview" });
  const tree = h("div", { class: "pq-schema", role: "treegrid", tabindex: 0, "aria-label": "Schema", "data-name": "schema", on: { keydown, click } });
  const folded = new Set<number>();
  let signature = "";
  let rows: SchemaRow[] = [];
  let active = 0; // among the rows that are shown

  function update(body: OverviewBody): void {
    const others = JSON.stringify(body);
    if (others === signature) return;
    signature = others;
    rows = body.schema;
    drawTree();
    replace(element, bar("Bytes by kind", body.kinds), bar("Bytes by column", body.parts), facts(body), schema(body), keys(body));
  }

  function bar(title: string, parts: Part[]): HTMLElement {
    const segments = parts.map((part) =>
      h("span", {
        class: hue(part),
        title: `${part.name}: ${part.size}, ${part.share}`,
        style: { "flex-grow": String(part.bytes) },
      }),
    );
    const legend = parts.map((part) =>
      h(
        "div",
        { role: "listitem" },
        h("i", { class: hue(part) }, part.ordinal === null ? "" : String(part.ordinal)),
        h("span", { class: "pq-name", title: part.name }, part.name),
        h("span", { class: "pq-number" }, part.size),
        h("span", { class: "pq-number pq-muted" }, part.share),
      ),
    );
    return h(
      "section",
      {},
      h("h4", {}, title),
      h("div", { class: "pq-bytes", role: "img", "aria-label": `${title}; the list has the figures` }, ...segments),
      h("div", { class: "pq-legend", role: "list" }, ...legend),
    );
  }

  function facts(body: OverviewBody): HTMLElement {
    const badges = body.facts.map((fact) =>
      h(
        "div",
        { role: "listitem", class: fact.is_warning ? "pq-badge pq-warning" : "pq-badge" },
        h("span", { class: "pq-muted" }, `${fact.is_warning ? "⚠ " : ""}${fact.name} `),
        fact.value,
      ),
    );
    return h("section", { class: "pq-badges", role: "list", "aria-label": "Facts" }, ...badges);
  }

  function schema(body: OverviewBody): HTMLElement {
    return h(
      "section",
      {},
      h("h4", {}, "Schema"),
      tree,
      body.num_left_out > 0 &&
        h("p", { class: "pq-muted" }, `… and ${body.num_left_out.toLocaleString("en")} more elements: `, button("the grid has all columns", () => link.go({ screen: "grid" }), { class: "pq-link" })),
    );
  }

  /** The rows that no folded group hides, by their place among all. */
  function shown(): number[] {
    const found: number[] = [];
    let hiddenBelow = Infinity;
    rows.forEach((row, place) => {
      if (row.level > hiddenBelow) return;
      hiddenBelow = folded.has(place) ? row.level : Infinity;
      found.push(place);
    });
    return found;
  }

  function drawTree(): void {
    const heads = HEADS.map((name, place) => h("span", { role: "columnheader", class: place > 2 ? "pq-number" : undefined }, name));
    const lines = shown().map((place, index) => line(place, index));
    replace(tree, h("div", { class: "pq-schema-row pq-schema-head", role: "row" }, ...heads), ...lines);
    tree.setAttribute("aria-activedescendant", id(active));
  }

  const id = (index: number): string => `pqs${number}-${index}`;

  function line(place: number, index: number): HTMLElement {
    const row = rows[place] as SchemaRow;
    const isGroup = row.leaf === null;
    const sign = !isGroup ? "" : folded.has(place) ? "▸ " : "▾ ";
    return h(
      "div",
      {
        id: id(index),
        class: `pq-schema-row${index === active ? " pq-active" : ""}`,
        role: "row",
        "aria-level": row.level,
        "aria-expanded": isGroup ? String(!folded.has(place)) : undefined,
        "data-index": index,
        "data-name": isGroup ? `group ${row.name}` : `leaf ${row.leaf}`,
      },
      h(
        "span",
        { role: "gridcell", class: isGroup ? undefined : "pq-leaf", title: row.name, style: { "padding-left": `${(Math.min(row.level, 24) - 1) * 16}px` } },
        `${sign}${row.name}`,
      ),
      h("span", { role: "gridcell", title: row.type }, row.type, h("span", { class: "pq-muted" }, ` ${row.repetition}`)),
      h("span", { role: "gridcell", class: "pq-muted", title: row.storage }, row.storage),
      h("span", { role: "gridcell", class: "pq-number" }, row.nulls),
      h("span", { role: "gridcell", class: "pq-number" }, row.size),
      h("span", { role: "gridcell", class: "pq-number pq-muted" }, row.ratio),
    );
  }

  function click(event: MouseEvent): void {
    const found = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
    if (found === null) return;
    active = Number(found.dataset["index"]);
    open();
  }

  function open(): void {
    const place = shown()[active];
    const leaf = place === undefined ? null : rows[place]?.leaf;
    if (typeof leaf === "number") link.go({ screen: "column", leaf });
    else if (place !== undefined) fold(place, !folded.has(place));
  }

  function fold(place: number, isFolded: boolean): void {
    if (isFolded) folded.add(place);
    else folded.delete(place);
    drawTree();
  }

  function keydown(event: KeyboardEvent): void {
    const places = shown();
    const steps: { [key: string]: number } = { ArrowUp: active - 1, ArrowDown: active + 1, Home: 0, End: places.length - 1 };
    const to = steps[event.key];
    const place = places[active];
    if (to !== undefined) {
      active = Math.min(Math.max(to, 0), Math.max(places.length - 1, 0));
      drawTree();
      tree.querySelector(".pq-active")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") open();
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && place !== undefined && rows[place]?.leaf === null) fold(place, event.key === "ArrowLeft");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function keys(body: OverviewBody): HTMLElement | null {
    if (body.keys.length === 0) return null;
    const entries = body.keys.flatMap(([key, value, decoded]) => [
      h("dt", {}, key),
      h("dd", {}, decoded.length === 0 ? value : h("details", {}, h("summary", {}, value), h("pre", {}, decoded.join("\n")))),
    ]);
    const more = body.num_keys - body.keys.length;
    return h(
      "section",
      {},
      h("h4", {}, "Key-value metadata"),
      h("dl", {}, ...entries),
      more > 0 && h("p", { class: "pq-muted" }, `… and ${more.toLocaleString("en")} more: see .key_value_metadata`),
    );
  }

  return {
    element,
    update,
    rows: () => undefined,
    close: () => undefined,
    focus: () => tree.focus({ preventScroll: true }),
    keys: () => [
      ["↑ ↓", "moves"],
      ["← →", "folds"],
      ["Enter", "opens the column"],
    ],
  };
}

const hue = (part: Part): string => (part.ordinal === null ? "pq-rest" : `pq-hue-${part.ordinal}`);
