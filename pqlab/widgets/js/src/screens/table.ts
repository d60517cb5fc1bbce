// A long table: rows in view only, sorted by its heads, walked by mouse and keys.

import { Blocks } from "../blocks";
import { doubleClicks, h, replace } from "../dom";
import type { Link } from "../link";
import type { Rows, Span, TableHead } from "../messages";
import { range, virtual, type Virtual } from "../virtual";

const ROW_HEIGHT = 24;
const MAX_HEIGHT = 380;
const SCROLLBAR = 18; // and borders
const CHARACTER_WIDTH = 7.3;

interface Row {
  key: number;
  cells: string[];
}

export interface Table {
  readonly element: HTMLElement;
  update(head: TableHead, picked?: Span[]): void;
  take(answer: Rows): void;
  enter(): void;
  close(): void;
}

let tables = 0;

/** `open` is for one row, `pick` for several; both get the rows' keys. Without `sort` the kernel sorts by name. */
export function table(
  link: Link,
  name: string,
  label: string,
  actions: { open?: (key: number) => void; pick?: (keys: Span, isMore: boolean) => void; clear?: () => void; sort?: (column: string) => void },
): Table {
  const number = tables++;
  const rowId = (index: number): string => `pqt${number}-${index}`;
  let head: TableHead | null = null;
  let rows: Virtual | null = null;
  let widths: number[] = [];
  let active = 0;
  let anchor = 0;
  let signature = "";
  let picked: Span[] = [];
  let waiting: (() => void) | null = null; // what was asked of rows that are on their way
  const isSecondClick = doubleClicks();
  const blocks = new Blocks<Row>((start, stop) => link.ask(name, start, stop));
  const heads = h("div", { class: "pq-table-head", role: "row" });
  const content = h("div", { class: "pq-table-content" });
  const element = h(
    "div",
    {
      class: "pq-table",
      role: "grid",
      tabindex: 0,
      "aria-label": label,
      "data-name": `table ${name}`,
      on: { keydown, click },
    },
    heads,
    content,
  );

  function update(next: TableHead, spans: Span[] = []): void {
    picked = spans;
    const others = `${next.order} ${next.descending} ${next.num_rows}`;
    if (others !== signature) blocks.clear();
    blocks.invalidate();
    signature = others;
    const isNew = head === null || head.num_rows !== next.num_rows;
    head = next;
    if (widths.length !== next.columns.length) widths = next.columns.map((column) => widthOf(column.heading));
    active = clamp(active, next.num_rows);
    element.setAttribute("aria-rowcount", String(next.num_rows + 1));
    element.style.height = `${Math.min((next.num_rows + 1) * ROW_HEIGHT + SCROLLBAR, MAX_HEIGHT)}px`;
    drawHeads();
    if (isNew) {
      rows?.close();
      rows = virtual(element, { count: next.num_rows, size: ROW_HEIGHT, before: ROW_HEIGHT, change: draw });
    }
    draw();
  }

  function drawHeads(): void {
    if (head === null) return;
    const { columns, order, descending } = head;
    replace(
      heads,
      ...columns.map((column, place) =>
        h(
          "button",
          {
            type: "button",
            class: column.is_number ? "pq-right" : undefined,
            role: "columnheader",
            "data-name": `sort ${column.name}`,
            "aria-sort": column.name !== order ? "none" : descending ? "descending" : "ascending",
            style: { width: `${widths[place] ?? 80}px` },
            on: { click: () => (actions.sort !== undefined ? actions.sort(column.name) : link.do("sort", { table: name, column: column.name })) },
          },
          column.heading + (column.name !== order ? "" : descending ? " ▾" : " ▴"),
        ),
      ),
    );
  }

  function draw(): void {
    if (head === null || rows === null) return;
    const [first, last] = range(rows.virtualizer);
    blocks.need(first, last);
    content.style.height = `${rows.virtualizer.getTotalSize() - ROW_HEIGHT}px`;
    content.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
    const drawn: Node[] = [];
    for (let index = first; index < last; index++) drawn.push(line(index));
    content.replaceChildren(...drawn);
    element.setAttribute("aria-activedescendant", rowId(active));
  }

  function line(index: number): HTMLElement {
    const row = blocks.row(index);
    const isPicked = row !== undefined && picked.some(([start, stop]) => start <= row.key && row.key < stop);
    return h(
      "div",
      {
        id: rowId(index),
        class: `pq-table-row${index === active ? " pq-active" : ""}${isPicked ? " pq-picked" : ""}`,
        role: "row",
        "aria-rowindex": index + 2,
        "aria-selected": String(index === active || isPicked),
        "data-index": index,
        style: { transform: `translateY(${index * ROW_HEIGHT}px)` },
      },
      ...(row?.cells ?? []).map((cell, place) =>
        h(
          "span",
          {
            class: `${head?.columns[place]?.is_number ? "pq-right" : ""}${cell === "—" || cell === "not read" ? " pq-muted" : ""}`,
            role: "gridcell",
            title: cell,
            style: { width: `${widths[place] ?? 80}px` },
          },
          cell,
        ),
      ),
    );
  }

  function take(answer: Rows): void {
    if (!link.isCurrent(answer) || answer.table !== name) return;
    const lines = answer.rows as string[][];
    blocks.take(answer.start, lines.map((cells, at) => ({ cells, key: answer.keys?.[at] ?? at })));
    let isWider = false;
    for (const cells of lines)
      cells.forEach((cell, place) => {
        const width = widthOf(cell);
        if (width > (widths[place] ?? 0)) [widths[place], isWider] = [width, true];
      });
    if (isWider) drawHeads();
    draw();
    const asked = waiting;
    waiting = null;
    asked?.();
  }

  function click(event: MouseEvent): void {
    const line = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
    if (line === null) return;
    element.focus({ preventScroll: true });
    const index = Number(line.dataset["index"]);
    if (isSecondClick(String(index))) open();
    else move(index, event.shiftKey, event.ctrlKey || event.metaKey);
  }

  function move(to: number, isRange: boolean, isMore = false): void {
    if (head === null) return;
    waiting = null;
    active = clamp(to, head.num_rows);
    if (!isRange) anchor = active;
    rows?.virtualizer.scrollToIndex(active);
    draw();
    if (actions.pick !== undefined) pick(isMore);
  }

  function pick(isMore: boolean): void {
    const keys = [];
    for (let index = Math.min(active, anchor); index <= Math.max(active, anchor); index++) {
      const row = blocks.row(index);
      if (row === undefined) {
        waiting = () => pick(isMore);
        return;
      }
      if (row.key >= 0) keys.push(row.key);
    }
    const [low, high] = [Math.min(...keys), Math.max(...keys)];
    if (keys.length > 0 && high - low + 1 === keys.length) actions.pick?.([low, high + 1], isMore);
  }

  function open(): void {
    const row = blocks.row(active);
    if (row !== undefined) actions.open?.(row.key);
    else waiting = open;
  }

  function keydown(event: KeyboardEvent): void {
    if (event.target !== element) return;
    const page = Math.max(1, Math.floor(element.clientHeight / ROW_HEIGHT) - 2);
    const steps: { [key: string]: number } = {
      ArrowUp: active - 1,
      ArrowDown: active + 1,
      PageUp: active - page,
      PageDown: active + page,
      Home: 0,
      End: (head?.num_rows ?? 1) - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) move(to, event.shiftKey);
    else if (event.key === "Enter") open();
    else if (event.key === "Escape" && actions.clear !== undefined) actions.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function enter(): void {
    rows?.virtualizer.scrollToIndex(active);
    draw();
  }

  return { element, update, take, enter, close: () => rows?.close() };
}

const widthOf = (words: string): number => Math.min(Math.max(words.length * CHARACTER_WIDTH + 22, 58), 280);

const clamp = (value: number, count: number): number => Math.min(Math.max(value, 0), Math.max(count - 1, 0));
