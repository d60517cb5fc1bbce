// The slice bar: what the picked slice reads, how to have it, and how a read goes on.

import { button, focusIn, h, replace, type Child } from "./dom";
import type { Link } from "./link";
import type { Copy, Failure, Run } from "./messages";

export interface SliceBar {
  readonly element: HTMLElement;
  draw(): void;
  copied(copy: Copy): void;
  failed(error: Failure | null): void;
}

export function sliceBar(link: Link): SliceBar {
  const words = h("div", { class: "pq-slice-words", role: "status", "aria-live": "polite" });
  const copies = h("div", { class: "pq-copied" });
  const problem = h("div", {});
  // What is pressed stays the same element while it is drawn: else a press would be lost.
  const variable = h("input", {
    class: "pq-variable",
    "data-name": "variable",
    "aria-label": "Name of the variable",
    spellcheck: "false",
    on: { change: () => link.do("name", { variable: variable.value }) },
  });
  const read = button("Read", () => link.read(), { class: "pq-primary", "data-name": "read" });
  const overwrite = button("", () => link.read(true), { class: "pq-danger", "data-name": "overwrite" });
  const there = h("span", {});
  const clear = button("Clear", () => link.do("clear"), { "data-name": "clear" });
  const tools = h(
    "div",
    { class: "pq-tools" },
    h("label", {}, "into ", variable),
    read,
    overwrite,
    there,
    button("Copy code", () => link.copy("code"), { "data-name": "copy code" }),
    button("Copy %pqread", () => link.copy("magic"), { "data-name": "copy magic" }),
    clear,
  );
  const progress = h("progress", { max: 1, "aria-label": "Progress" });
  const said = h("span", { class: "pq-number" });
  const cancel = button("Cancel", () => link.cancel(), { "data-name": "cancel" });
  const retry = button("Retry", () => link.read(), { "data-name": "retry" });
  const cost = button("What it cost", () => link.go({ screen: "timing" }), { class: "pq-link", "data-name": "to timing" });
  const run = h("div", { class: "pq-run", role: "status", "aria-live": "polite" });
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
    if (focusIn(variable) === null) variable.value = slice.variable;
    read.disabled = isRunning || !slice.is_planned;
    read.hidden = slice.confirm;
    overwrite.hidden = there.hidden = !slice.confirm;
    overwrite.textContent = `Overwrite ${slice.variable}`;
    there.textContent = `There is a variable ${slice.variable} already.`;
    clear.hidden = slice.is_everything;
    if (link.run !== null) drawRun(link.run);
  }

  function drawRun(of: Run): void {
    progress.value = of.share;
    said.textContent = of.state === "done" ? `✓ ${of.variable}: ${of.text}` : of.text;
    said.className = of.state === "done" ? "pq-done" : "pq-number";
    cancel.disabled = of.state === "cancelling";
    const parts: { [state: string]: Child[] } = {
      failed: [of.error !== null && failure(of.error), retry, cost],
      done: [said, cost],
      cancelled: [said, cost],
    };
    replace(run, ...(parts[of.state] ?? [progress, said, cancel]));
  }

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
