// The slice bar: what the picked slice reads, how to have it, and how a read goes on.

import { button, h, replace, type Child } from "./dom";
import type { Link } from "./link";
import type { Copy, Failure, Run, Slice } from "./messages";

export interface SliceBar {
  readonly element: HTMLElement;
  draw(): void;
  copied(copy: Copy): void;
  failed(error: Failure | null): void;
}

export function sliceBar(link: Link): SliceBar {
  const words = h("div", { class: "pq-slice-words", role: "status", "aria-live": "polite" });
  const tools = h("div", { class: "pq-tools" });
  const run = h("div", { class: "pq-run", role: "status", "aria-live": "polite" });
  const copies = h("div", { class: "pq-copied" });
  const problem = h("div", {});
  const element = h("div", { class: "pq-slice", "aria-label": "Slice" }, problem, words, tools, run, copies);

  function draw(): void {
    const slice = link.slice;
    if (slice === null) return;
    replace(
      words,
      h("b", {}, slice.is_everything ? "Everything: " : "Picked: "),
      slice.error === null ? h("span", { class: "pq-plan" }, slice.text) : failure(slice.error),
      ...slice.notes.map((note) => h("div", { class: "pq-muted" }, note)),
      ...slice.details.map((detail) => h("div", { class: "pq-muted" }, `⚠ ${detail}`)),
    );
    const isRunning = link.run?.state === "running" || link.run?.state === "cancelling";
    replace(
      tools,
      h("label", {}, "into ", name(slice)),
      slice.confirm
        ? button(`Overwrite ${slice.variable}`, () => link.read(true), { class: "pq-danger", "data-name": "overwrite" })
        : button("Read", () => link.read(), { class: "pq-primary", "data-name": "read", disabled: isRunning || !slice.is_planned }),
      slice.confirm && h("span", {}, `There is a variable ${slice.variable} already.`),
      button("Copy code", () => link.copy("code"), { "data-name": "copy code" }),
      button("Copy %pqread", () => link.copy("magic"), { "data-name": "copy magic" }),
      !slice.is_everything && button("Clear", () => link.do("clear"), { "data-name": "clear" }),
    );
    replace(run, ...(link.run === null ? [] : running(link.run)));
  }

  function name(slice: Slice): HTMLElement {
    return h("input", {
      class: "pq-variable",
      "data-name": "variable",
      "aria-label": "Name of the variable",
      spellcheck: "false",
      value: slice.variable,
      on: { change: (e: Event) => link.do("name", { variable: (e.target as HTMLInputElement).value }) },
    });
  }

  function running(of: Run): Child[] {
    if (of.state === "failed")
      return [of.error !== null && failure(of.error), button("Retry", () => link.read(), { "data-name": "retry" }), cost()];
    if (of.state === "done") return [h("span", { class: "pq-done" }, `✓ ${of.variable}: ${of.text}`), cost()];
    if (of.state === "cancelled") return [h("span", {}, of.text), cost()];
    return [
      h("progress", { max: 1, value: of.share, "aria-label": "Progress" }),
      h("span", { class: "pq-number" }, of.text),
      button("Cancel", () => link.cancel(), { "data-name": "cancel", disabled: of.state === "cancelling" }),
    ];
  }

  const cost = (): Child => button("What it cost", () => link.go({ screen: "timing" }), { class: "pq-link", "data-name": "to timing" });

  function copied(copy: Copy): void {
    const text = h("textarea", { readonly: true, rows: 2, "aria-label": "Copied text" });
    text.value = copy.text;
    replace(copies, h("span", { class: "pq-muted" }, "Copied:"), text, button("Close", () => replace(copies), { "data-name": "close copy" }));
    text.select();
    navigator.clipboard?.writeText(copy.text).catch(() => document.execCommand("copy"));
  }

  function failed(error: Failure | null): void {
    replace(problem, error !== null && failure(error), error !== null && button("Dismiss", () => failed(null), { "data-name": "dismiss" }));
  }

  return { element, draw, copied, failed };
}

export function failure(error: Failure): HTMLElement {
  return h(
    "div",
    { class: "pq-failure", role: "alert" },
    h("b", {}, `${error.kind}: `),
    h("span", {}, error.message),
    error.place !== "" && h("div", { class: "pq-muted" }, error.place),
    error.hint !== "" && h("div", {}, error.hint),
  );
}
