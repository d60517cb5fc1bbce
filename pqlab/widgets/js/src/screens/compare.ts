// What two files, two traces or two pieces of work have differently.

import { button, h, replace, type Child } from "../dom";
import type { Link } from "../link";
import type { CompareBody, DifferenceBody, PairOfBars, Pairs, Side } from "../compare/messages";
import { classOf, swatch } from "../timing/stages";
import { svg } from "../timing/charts";
import type { Keys, Screen } from "./screen";
import { table } from "./table";

const PLOT = { width: 640, height: 150, left: 52, right: 12, top: 10, bottom: 20 };

export function compare(link: Link): Screen<CompareBody> {
  const differences = table(link, "compare", "Differences", { sort: (column) => link.compare("sort", { column }) });
  const top = h("div", {});
  const chips = h("div", { class: "pq-tools", role: "group", "aria-label": "Which differences" });
  const title = h("h4", {});
  const list = h("section", {}, title, chips, differences.element);
  const element = h("div", { class: "pq-screen pq-compare" });

  function update(body: CompareBody): void {
    if (body.kind === "nothing") {
      replace(element, h("p", { class: "pq-muted" }, body.hint));
      return;
    }
    replace(element, top, list);
    replace(top, ...head(body), body.pairs !== null && runs(body.pairs, body.names), body.bars.length > 0 && sides(body));
    title.textContent = body.kind === "runs" ? "Pairs" : "Differences";
    replace(chips, ...drawChips(body));
    differences.update(body.table);
  }

  function head(body: DifferenceBody): Child[] {
    return [
      h("p", { class: "pq-headline", role: "status" }, body.headline),
      ...body.notes.map((note) => h("div", { class: "pq-note pq-warning" }, `⚠ ${note}`)),
    ];
  }

  function drawChips(body: DifferenceBody): Child[] {
    const count = body.parts.reduce((sum, [, each]) => sum + each, 0);
    if (body.kind === "runs") return [];
    const chip = (part: string | null, label: string): Child =>
      button(label, () => link.compare("show", { part }), { class: "pq-chip", "data-name": `part ${part ?? "all"}`, "aria-pressed": String(body.part === part) });
    return [
      chip(null, `all ${count.toLocaleString("en")}`),
      ...(body.parts.length > 1 ? body.parts.map(([part, each]) => chip(part, `${part} ${each.toLocaleString("en")}`)) : []),
      body.has_row_groups &&
        h(
          "label",
          {},
          h("input", { type: "checkbox", checked: body.by_row_group, "data-name": "by row group", on: { change: (e: Event) => link.compare("row_groups", { on: (e.target as HTMLInputElement).checked }) } }),
          " row group by row group",
        ),
      body.left_out > 0 && h("span", { class: "pq-muted" }, `${body.left_out} smaller differences of time are left out`),
      count === 0 && h("span", { class: "pq-muted" }, "None."),
    ];
  }

  return {
    element,
    update,
    keys: (): Keys => [["↑ ↓", "walk"]],
    rows: (answer) => differences.take(answer),
    enter: () => differences.enter(),
    focus: () => differences.element.focus({ preventScroll: true }),
    close: () => differences.close(),
  };
}

// --------------------------------------------------------------------------------- both sides

function sides(body: DifferenceBody): HTMLElement {
  const letters = new Map(body.stages.map(([drawn, name, letter]) => [drawn, { name, letter }]));
  return h(
    "section",
    {},
    h("h4", {}, "Columns ", h("span", { class: "pq-muted" }, body.hint)),
    h("div", { class: "pq-shades" }, h("span", {}, h("i", { class: "pq-before" }), "above: ", body.names[0]), h("span", {}, h("i", { class: "pq-after" }), "below: ", body.names[1])),
    body.stages.length > 0 &&
      h("div", { class: "pq-stages", role: "list", "aria-label": "Stages" }, ...body.stages.map(([drawn, name, letter]) => h("span", { role: "listitem" }, swatch({ drawn, letter }), name))),
    h("div", { class: "pq-pairs", role: "list", "aria-label": "Columns that differ" }, ...body.bars.map((bars) => pair(bars, body, letters))),
  );
}

function pair(bars: PairOfBars, body: DifferenceBody, letters: Map<number, { name: string; letter: string }>): HTMLElement {
  const [one, other] = body.names;
  return h(
    "div",
    { class: "pq-pair", role: "listitem", "data-name": `pair ${bars.name}` },
    h("span", { class: "pq-name", title: bars.name }, bars.name),
    h("span", { class: "pq-both" }, side(bars.left, one, body.most, letters, "pq-before"), side(bars.right, other, body.most, letters, "pq-after")),
    h("span", { class: "pq-number pq-sides" }, h("span", { class: "pq-muted", title: one }, bars.left.text), h("span", { title: other }, bars.right.text)),
    h("span", { class: `pq-number ${bars.is_worse ? "pq-worse" : "pq-better"}` }, bars.change, h("span", { class: "pq-muted" }, ` ${bars.part}`)),
  );
}

function side(of: Side, name: string, most: number, letters: Map<number, { name: string; letter: string }>, kind: string): HTMLElement {
  const width = `${(100 * of.amount) / Math.max(most, 1)}%`;
  const parts = of.parts.map(([drawn, amount, text]) =>
    h(
      "span",
      { class: classOf(drawn), title: `${name}: ${letters.get(drawn)?.name} ${text}`, style: { "flex-grow": String(amount) } },
      amount * 30 > most ? (letters.get(drawn)?.letter ?? "") : "",
    ),
  );
  return h("span", { class: `pq-side ${kind}`, title: `${name}: ${of.text}`, style: { width } }, ...parts);
}

// ---------------------------------------------------------------------------------------- runs

function runs(of: Pairs, names: [string, string]): HTMLElement {
  const heads = ["", "mean", "median", "least"];
  return h(
    "section",
    { class: "pq-columns pq-two" },
    h("div", {}, plot(of, names), h("div", { class: "pq-shades" }, key("circle", `${names[0]} ran first`), key("diamond", `${names[1]} ran first`), h("span", {}, h("i", { class: "pq-interval-key" }), "95 % interval of the median"))),
    h(
      "div",
      {},
      h("table", { class: "pq-figures-table" }, h("tr", {}, ...heads.map((head) => h("th", {}, head))), ...of.rows.map((row) => h("tr", {}, ...row.map((cell, at) => h(at === 0 ? "th" : "td", {}, cell))))),
      h("p", {}, `${names[1]} takes `, h("b", {}, of.text), ` times as long as ${names[0]}: `, h("b", {}, of.verdict)),
      of.left_out > 0 && h("p", { class: "pq-muted" }, `… and ${of.left_out} more pairs`),
    ),
  );
}

function plot(of: Pairs, names: [string, string]): HTMLElement {
  const { width, height, left, right, top, bottom } = PLOT;
  const values = [...of.ratios.map(([ratio]) => ratio), ...of.interval, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((high - low) * 0.08, 0.005);
  const y = (ratio: number): number => top + ((high + margin - ratio) / (high - low + 2 * margin)) * (height - top - bottom);
  const x = (pair: number): number => left + ((pair + 0.5) / Math.max(of.ratios.length, 1)) * (width - left - right);
  const [from, median, to] = of.interval;
  const line = (ratio: number, kind: string): SVGElement => svg("line", { x1: left, x2: width - right, y1: y(ratio), y2: y(ratio), class: kind });
  const label = (ratio: number): SVGElement => svg("text", { x: left - 6, y: y(ratio) + 4, "text-anchor": "end", class: "pq-axis-text" }, `${ratio.toFixed(2)} ×`);
  const points = of.ratios.map(([ratio, isRight], pair) => {
    const title = svg("title", {}, `pair ${pair}: ${ratio.toFixed(3)} ×, ${names[isRight]} first`);
    return isRight
      ? svg("path", { d: `M${x(pair)} ${y(ratio) - 4}l4 4-4 4-4-4z`, class: "pq-point pq-point-1" }, title)
      : svg("circle", { cx: x(pair), cy: y(ratio), r: 3.4, class: "pq-point pq-point-0" }, title);
  });
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "pq-plot", role: "img", "aria-label": `Ratios of ${of.ratios.length} pairs: median ${of.text}` },
    svg("rect", { x: left, y: y(to), width: width - left - right, height: Math.max(y(from) - y(to), 1), class: "pq-interval" }),
    line(1, "pq-one"),
    line(median, "pq-median"),
    ...[...new Set([1, median, Math.abs(y(high) - y(median)) > 14 && Math.abs(y(high) - y(1)) > 14 ? high : 1])].filter((ratio) => ratio === 1 || Math.abs(y(ratio) - y(1)) > 14).map(label),
    ...points,
    svg("text", { x: width - right, y: height - 4, "text-anchor": "end", class: "pq-axis-text" }, "pairs in the order they ran →"),
  );
  return chart as unknown as HTMLElement;
}

function key(shape: "circle" | "diamond", label: string): HTMLElement {
  const mark = shape === "circle" ? svg("circle", { cx: 6, cy: 6, r: 3.4, class: "pq-point pq-point-0" }) : svg("path", { d: "M6 2l4 4-4 4-4-4z", class: "pq-point pq-point-1" });
  return h("span", {}, svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, mark) as unknown as HTMLElement, label);
}
