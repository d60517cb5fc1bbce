// The file at a glance: where its bytes are, what is odd, its schema, its keys.

import { h, replace } from "../dom";
import type { Link } from "../link";
import type { OverviewBody } from "../messages";
import type { Screen } from "./screen";

export function overview(link: Link): Screen<OverviewBody> {
  const element = h("div", { class: "pq-screen pq-overview" });

  function update(body: OverviewBody): void {
    replace(element, bytes(body), facts(body), schema(body), keys(body));
  }

  function bytes(body: OverviewBody): HTMLElement {
    const segments = body.parts.map((part) =>
      h("span", {
        class: hue(part),
        title: `${part.name}: ${part.size}, ${part.share}`,
        style: { "flex-grow": String(part.bytes) },
      }),
    );
    const legend = body.parts.map((part) =>
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
      h("h4", {}, "Bytes"),
      h("div", { class: "pq-bytes", role: "img", "aria-label": "Bytes of the file by part; the list has the figures" }, ...segments),
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
    const rows = body.schema.map((row) => {
      const open = row.leaf === null ? undefined : () => link.go({ screen: "column", leaf: row.leaf ?? 0 });
      return h(
        "div",
        { class: "pq-schema-row", role: "row", "aria-level": row.level },
        h(
          "span",
          { role: "gridcell", title: row.name, style: { "padding-left": `${(Math.min(row.level, 24) - 1) * 16}px` } },
          open === undefined ? row.name : h("button", { type: "button", class: "pq-link", "data-name": `leaf ${row.leaf}`, on: { click: open } }, row.name),
        ),
        h("span", { role: "gridcell" }, row.type, h("span", { class: "pq-muted" }, ` ${row.repetition}`)),
        h("span", { role: "gridcell", class: "pq-muted", title: row.storage }, row.storage),
        h("span", { role: "gridcell", class: "pq-number" }, row.nulls),
        h("span", { role: "gridcell", class: "pq-number" }, row.size),
        h("span", { role: "gridcell", class: "pq-number pq-muted" }, row.ratio),
      );
    });
    const heads = ["name", "type", "codec and encodings", "nulls", "compressed", "ratio"].map((name, place) =>
      h("span", { role: "columnheader", class: place > 2 ? "pq-number" : undefined }, name),
    );
    return h(
      "section",
      {},
      h("h4", {}, "Schema"),
      h("div", { class: "pq-schema", role: "treegrid", "aria-label": "Schema" }, h("div", { class: "pq-schema-row pq-schema-head", role: "row" }, ...heads), ...rows),
      body.num_left_out > 0 &&
        h("p", { class: "pq-muted" }, `… and ${body.num_left_out.toLocaleString("en")} more elements: `, h("button", { type: "button", class: "pq-link", on: { click: () => link.go({ screen: "grid" }) } }, "the grid has all columns")),
    );
  }

  function keys(body: OverviewBody): HTMLElement | null {
    if (body.keys.length === 0) return null;
    const entries = body.keys.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
    const more = body.num_keys - body.keys.length;
    return h(
      "section",
      {},
      h("h4", {}, "Key-value metadata"),
      h("dl", {}, ...entries),
      more > 0 && h("p", { class: "pq-muted" }, `… and ${more.toLocaleString("en")} more: see .key_value_metadata`),
    );
  }

  return { element, update, rows: () => undefined, close: () => undefined };
}

const hue = (part: OverviewBody["parts"][number]): string =>
  part.ordinal === null ? "pq-rest" : `pq-hue-${part.ordinal}`;
