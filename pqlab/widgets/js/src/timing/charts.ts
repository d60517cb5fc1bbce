// What the timeline filters: bars of stages by column, distributions by encoding, windows in time.

import { h, replace } from "../dom";
import type { Span } from "../messages";
import type { Bar, Distribution, TimingBody, Windows } from "./messages";
import { classOf, duration } from "./stages";
import { GUTTER } from "./timeline";

const SVG = "http://www.w3.org/2000/svg";
const HISTOGRAM: Span = [320, 26]; // width, height of its own units
const WINDOWS_HEIGHT = 96;
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 4", "4 4", "1 4", "10 2 2 2"];

export function svg(tag: string, properties: { [name: string]: string | number }, ...children: (Element | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// --------------------------------------------------------------------------------------- bars

export function bars(choose: (column: number, isMore: boolean) => void): { element: HTMLElement; update(body: TimingBody): void } {
  let active = 0;
  const rows = h("div", { class: "pq-bars", role: "group", "aria-label": "Time by column and stage; choosing one filters", on: { keydown } });
  const more = h("p", { class: "pq-muted" });

  function update(body: TimingBody): void {
    const letters = new Map(body.legend.map((stage) => [stage.drawn, stage]));
    active = Math.min(active, Math.max(body.bars.rows.length - 1, 0));
    replace(rows, ...body.bars.rows.map((row, at) => line(row, at, body.bars.most_ns, letters)));
    more.textContent = body.bars.left_out > 0 ? `… and ${body.bars.left_out.toLocaleString("en")} more columns` : "";
  }

  function line(row: Bar, at: number, most: number, letters: Map<number, { name: string; letter: string }>): HTMLElement {
    const said = row.parts.map(([drawn, , took, share]) => `${letters.get(drawn)?.name} ${took}, ${share}`).join("; ");
    const segments = row.parts.map(([drawn, ns, took, share]) =>
      h(
        "span",
        { class: classOf(drawn), title: `${letters.get(drawn)?.name}: ${took}, ${share}`, style: { "flex-grow": String(ns) } },
        ns * 22 > most ? (letters.get(drawn)?.letter ?? "") : "",
      ),
    );
    const choosable = row.column !== null;
    return h(
      "button",
      {
        type: "button",
        class: `pq-bar-row${row.is_chosen ? " pq-picked" : ""}`,
        "data-name": `bar ${row.column ?? "shared"}`,
        "aria-pressed": choosable ? String(row.is_chosen) : undefined,
        "aria-disabled": choosable ? undefined : "true",
        "aria-label": `${row.name}: ${row.total}, ${row.share} of the time; ${said}`,
        tabindex: at === active ? 0 : -1,
        on: {
          click: (event: MouseEvent) => {
            active = at;
            if (row.column !== null) choose(row.column, event.ctrlKey || event.metaKey || event.shiftKey);
          },
        },
      },
      h("span", { class: "pq-name", title: row.name }, row.name),
      h("span", { class: "pq-stack" }, h("span", { style: { width: `${(100 * row.ns) / Math.max(most, 1)}%` } }, ...segments)),
      h("span", { class: "pq-number" }, row.total),
      h("span", { class: "pq-number pq-muted" }, row.share),
    );
  }

  function keydown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...rows.querySelectorAll<HTMLElement>(".pq-bar-row")];
    if (step === undefined) return;
    active = Math.min(Math.max(buttons.indexOf(event.target as HTMLElement) + step, 0), buttons.length - 1);
    buttons.forEach((each, at) => (each.tabIndex = at === active ? 0 : -1));
    buttons[active]?.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  return { element: h("div", {}, rows, more), update };
}

// ------------------------------------------------------------------------------ distributions

export function histograms(of: Distribution): HTMLElement[] {
  const [width, height] = HISTOGRAM;
  if (of.rows.length === 0) return [h("p", { class: "pq-muted" }, "No page was decoded here.")];
  const rows = of.rows.map((row) => {
    const wide = width / row.bins.length;
    const columns = row.bins.flatMap((count, at) => {
      const high = count === 0 ? 0 : Math.max((Math.sqrt(count) / Math.sqrt(of.most)) * (height - 2), 2);
      return count === 0 ? [] : [svg("rect", { x: at * wide + 0.5, y: height - high, width: wide - 1, height: high, rx: 1 }, svg("title", {}, `${count} of ${row.pages}`))];
    });
    const at = row.median_at * width;
    const chart = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "pq-histogram", "aria-hidden": "true" },
      ...of.ticks.map(([x]) => svg("line", { x1: x * width, x2: x * width, y1: 0, y2: height, class: "pq-grid-line" })),
      ...columns,
      svg("line", { x1: at, x2: at, y1: 0, y2: height, class: "pq-median" }),
    );
    return h(
      "div",
      { class: "pq-distribution", role: "listitem", "data-name": `encoding ${row.name}` },
      h("span", { class: "pq-name", title: row.name }, row.name, h("span", { class: "pq-muted" }, row.pages)),
      h("span", {}, chart),
      h("span", { class: "pq-number" }, row.median, h("span", { class: "pq-muted" }, `9 of 10 ≤ ${row.ninety}`)),
    );
  });
  const step = Math.ceil(of.ticks.length / 5);
  const axis = h(
    "div",
    { class: "pq-distribution pq-axis", "aria-hidden": "true" },
    h("span", {}),
    h("span", { class: "pq-ticks" }, ...of.ticks.filter((_, at) => at % step === 0).map(([at, label]) => h("span", { class: "pq-muted", style: { left: `${100 * at}%` } }, label.replace(/\.0+ /, " ")))),
    h("span", { class: "pq-number pq-muted" }, "┃ median"),
  );
  return [h("div", { role: "list", "aria-label": "Time of pages by encoding" }, ...rows), axis, h("p", { class: "pq-muted" }, of.left_out > 0 ? `… and ${of.left_out} more encodings` : "")];
}

// ------------------------------------------------------------------------------------ windows

/** The windows on the timeline's own scale, `width` pixels from lane names to its right end. */
export function windows(body: TimingBody, width: number): HTMLElement | null {
  const { series, most, left_out }: Windows = body.windows;
  if (series.length === 0) return null;
  const [first, last] = body.shown;
  const x = (time: number): number => GUTTER + (Math.min(Math.max(time - first, 0), last - first) / (last - first)) * (width - GUTTER);
  const y = (pages: number): number => WINDOWS_HEIGHT - 8 - (pages / Math.max(most, 1)) * (WINDOWS_HEIGHT - 20);
  const lines = series.flatMap((each, at) => {
    const steps = each.steps.map(([time, pages]) => [time, pages] as const);
    let path = "";
    let before: number | null = null;
    for (const [time, pages] of [...steps, [last, steps[steps.length - 1]?.[1] ?? 0] as const]) {
      path += before === null ? `M${x(time)} ${y(pages)}` : `H${x(time)}V${y(pages)}`;
      before = pages;
    }
    const colour = `pq-line-${at % 8}`;
    const said = each.steps.map(([time, pages, why]) => svg("circle", { cx: x(time), cy: y(pages), r: 3, class: colour }, svg("title", {}, `${each.name}: ${pages} pages from ${duration(time - body.whole[0])} on (${why})`)));
    return [svg("path", { d: path, class: `pq-line ${colour}`, "stroke-dasharray": DASHES[at % 8] ?? "" }), ...said];
  });
  const stalls = body.misses.rows
    .filter(([start]) => start >= first && start < last)
    .map(([start, , , words]) => svg("path", { d: `M${x(start) - 4} 2h8l-4 7z`, class: "pq-miss" }, svg("title", {}, words)));
  const labels = [0, most].map((pages) => svg("text", { x: GUTTER - 8, y: y(pages) + 4, "text-anchor": "end", class: "pq-axis-text" }, `${pages.toLocaleString("en")} pages`));
  const chart = svg(
    "svg",
    { width, height: WINDOWS_HEIGHT, class: "pq-windows", role: "img", "aria-label": `Prefetch windows of ${series.map((each) => each.name).join(", ")}; at most ${most} pages` },
    svg("line", { x1: GUTTER, x2: width, y1: y(0), y2: y(0), class: "pq-grid-line" }),
    svg("line", { x1: GUTTER, x2: width, y1: y(most), y2: y(most), class: "pq-grid-line" }),
    ...labels,
    ...lines,
    ...stalls,
  );
  const names = series.map((each, at) =>
    h("span", {}, lineKey(at), h("span", { class: "pq-name", title: each.name }, each.name)),
  );
  return h(
    "section",
    { class: "pq-window-chart" },
    h("h4", {}, "Prefetch windows ", h("span", { class: "pq-muted" }, "pages in flight or ready, by the column that leads a lane; ▼ a miss")),
    chart as unknown as HTMLElement,
    h("div", { class: "pq-shades" }, ...names, left_out > 0 && h("span", { class: "pq-muted" }, `… and ${left_out} more`)),
  );
}

function lineKey(at: number): HTMLElement {
  const key = svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, svg("path", { d: "M1 5H27", class: `pq-line pq-line-${at % 8}`, "stroke-dasharray": DASHES[at % 8] ?? "" }));
  return key as unknown as HTMLElement;
}
