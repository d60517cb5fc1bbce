// What a read cost: a timeline, and the views that it filters.

import { button, h, replace, type Child } from "../dom";
import type { Link } from "../link";
import type { Span } from "../messages";
import { bars, histograms, windows } from "../timing/charts";
import type { Marks, TimingBody } from "../timing/messages";
import { legend } from "../timing/stages";
import { timeline } from "../timing/timeline";
import type { Keys, Screen } from "./screen";
import { table } from "./table";

export interface TimingScreen extends Screen<TimingBody> {
  marks(answer: Marks): void;
}

/** `open` leads to a page in the inspector, where there is one. */
export function timing(link: Link): TimingScreen {
  let body: TimingBody | null = null;
  let asked = ""; // the marks that are there, or on their way
  let isBusy = false; // a brush is on its way: the next one waits, and only the last one goes
  let waiting: { span: Span | null } | null = null;

  const lanes = timeline({
    brush,
    zoom: (span) => link.time("zoom", { span }),
    open: (place) => link.time("open", { key: place.key }),
    clear: () => link.time("clear"),
  });
  const columns = bars((column, more) => link.time("pick_column", { column, more }));
  const pages = table(link, "timing", "Pages with what each cost", {
    open: (key) => link.time("open", { key }),
    sort: (column) => link.time("sort", { column }),
  });
  const head = h("div", { class: "pq-timing-head" });
  const tools = h("div", { class: "pq-tools" });
  const stages = h("div", { class: "pq-stages", role: "list", "aria-label": "Stages" });
  const flow = h("div", {});
  const encodings = h("div", {});
  const measures = h("span", { class: "pq-measures" });
  const count = h("span", { class: "pq-muted" });
  const content = h(
    "div",
    {},
    tools,
    lanes.element,
    stages,
    flow,
    h(
      "div",
      { class: "pq-columns pq-two" },
      h("section", {}, h("h4", {}, "Columns ", h("span", { class: "pq-muted" }, "time of all workers by stage")), columns.element),
      h("section", {}, h("h4", {}, "Encodings ", measures), encodings),
    ),
    h("section", {}, h("h4", {}, "Pages ", count), pages.element),
  );
  const empty = h("p", { class: "pq-muted" }, "Nothing was read yet: press Read, and what it cost is shown here.");
  const element = h("div", { class: "pq-screen pq-timing" });
  const observer = new ResizeObserver(() => drawWindows());
  observer.observe(flow);

  function brush(span: Span | null): void {
    if (isBusy) waiting = { span };
    else {
      isBusy = true;
      link.time("brush", { span });
    }
  }

  function update(next: TimingBody): void {
    body = next;
    isBusy = false;
    if (waiting !== null) {
      const { span } = waiting;
      waiting = null;
      brush(span);
    }
    if (next.is_empty) {
      replace(element, empty);
      return;
    }
    replace(element, head, content);
    drawHead(next);
    drawTools(next);
    replace(stages, ...legend(next.legend));
    lanes.update(next);
    if (asked !== next.marks) {
      asked = next.marks;
      link.time("marks");
    }
    columns.update(next);
    drawMeasures(next);
    replace(encodings, ...histograms(next.distribution));
    count.textContent = `${next.table.num_rows.toLocaleString("en")}${next.filter === "" ? "" : " of the brushed time and columns"}, a click on a heading sorts`;
    pages.update(next.table, next.brush === null ? (next.picked ?? []) : []);
    drawWindows();
  }

  function drawHead(of: TimingBody): void {
    replace(
      head,
      h("div", { class: "pq-figures" }, ...of.figures.map(([figure, noun]) => h("span", {}, h("b", {}, figure), ` ${noun}`))),
      ...of.notes.map((note) => h("div", { class: note.is_warning ? "pq-note pq-warning" : "pq-note" }, `${note.is_warning ? "⚠ " : ""}${note.text}`)),
    );
  }

  function drawTools(of: TimingBody): void {
    const isZoomed = of.shown[0] !== of.whole[0] || of.shown[1] !== of.whole[1];
    replace(
      tools,
      of.reads.length > 1 && h("label", {}, "Read ", reads(of)),
      button("Zoom to brush", () => link.time("zoom", { span: of.brush }), { "data-name": "zoom brush", disabled: of.brush === null, title: "z" }),
      button("Whole", () => link.time("zoom", { span: null }), { "data-name": "zoom whole", disabled: !isZoomed, title: "0" }),
      of.filter !== ""
        ? h("span", { class: "pq-badge", role: "status" }, of.filter)
        : h("span", { class: "pq-muted" }, "Drag over the timeline to look at a part of it."),
      of.filter !== "" && button("Clear", () => link.time("clear"), { "data-name": "clear brush", title: "Esc" }),
      of.picks !== null &&
        h(
          "label",
          { title: "What is brushed becomes what is picked; without a brush it is as it was before" },
          h("input", { type: "checkbox", checked: of.picks, "data-name": "picks", on: { change: (e: Event) => link.time("picks", { on: (e.target as HTMLInputElement).checked }) } }),
          " brushing picks pages",
        ),
      h("span", { class: "pq-grow" }),
      button("Pages as a frame", () => link.time("export", { what: "frame" }), { "data-name": "export frame" }),
      button("Chrome trace", () => link.time("export", { what: "chrome" }), { "data-name": "export chrome" }),
      of.saved !== "" && h("div", { class: "pq-saved", role: "status" }, `✓ ${of.saved}`),
    );
  }

  function reads(of: TimingBody): HTMLElement {
    const option = (value: string, label: string, isChosen: boolean): HTMLElement => h("option", { value, selected: isChosen }, label);
    return h(
      "select",
      {
        "data-name": "reads",
        on: { change: (e: Event) => choose((e.target as HTMLSelectElement).value) },
      },
      option("all", `all ${of.reads.length}`, of.read === null),
      ...of.reads.map(([number, label]) => option(String(number), label, number === of.read)),
    );
  }

  const choose = (value: string): void => link.time("look_at", { read: value === "all" ? null : Number(value) });

  function drawMeasures(of: TimingBody): void {
    const each = (measure: string, label: string): Child =>
      button(label, () => link.time("measure", { of: measure }), {
        class: "pq-chip",
        "data-name": `measure ${measure}`,
        "aria-pressed": String(of.distribution.measure === measure),
      });
    replace(measures, h("span", { class: "pq-muted" }, "time "), each("page", "per page"), each("value", "per value"));
  }

  function drawWindows(): void {
    if (body === null || body.is_empty || flow.clientWidth === 0) return;
    replace(flow, windows(body, flow.clientWidth));
  }

  const keys = (): Keys => [
    ["← → ↑ ↓", "walk"],
    ["Shift+← →", "brush"],
    ["+ − 0", "zoom"],
    ["z", "zoom to brush"],
    ["Esc", "clear"],
    ["Enter", "open the page"],
  ];

  return {
    element,
    update,
    keys,
    marks: (answer) => lanes.take(answer),
    rows: (answer) => pages.take(answer),
    focus: () => (lanes.element.firstElementChild as HTMLElement | null)?.focus({ preventScroll: true }),
    enter: () => pages.enter(),
    close: () => {
      observer.disconnect();
      lanes.close();
      pages.close();
    },
  };
}
