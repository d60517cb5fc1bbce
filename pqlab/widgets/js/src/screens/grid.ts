// Row groups × columns as a heat map: rows are columns of the file, shades say what a lens sees.

import { Blocks } from "../blocks";
import { doubleClicks, h, replace } from "../dom";
import type { Link } from "../link";
import type { Cell, GridBody, GridRow, PackedRow, Rows, Span } from "../messages";
import { range, virtual, type Virtual } from "../virtual";
import type { Keys, Screen } from "./screen";

const NAME_WIDTH = 300;
const CELL_WIDTHS: Span = [54, 108]; // wider where there are few row groups
const ROW_HEIGHT = 24;
const MAX_HEIGHT = 420;
const SCROLLBAR = 18; // and borders
const WINDOW = 32; // row groups asked for at a time, or more where more are in view
const BLOCK = 40; // rows asked for at a time
const KEYS: { [key: string]: Span } = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

interface Place {
  row: number; // -1: the head
  column: number; // row group; -1: the name
}

let grids = 0;

export function grid(link: Link): Screen<GridBody> {
  const number = grids++;
  const cellId = (place: Place): string => `pq${number}-${place.row}-${place.column}`;
  let body: GridBody | null = null;
  let rows: Virtual | null = null;
  let columns: Virtual | null = null;
  let groups: Span = [0, WINDOW];
  let active: Place = { row: 0, column: 0 };
  let anchor: Place | null = null; // of a rectangle that is being picked
  let isDragging = false;
  let cellWidth = CELL_WIDTHS[0];
  let visited: readonly [number | null, number | null] = [null, null]; // where the user was last

  const isSecondClick = doubleClicks();
  const blocks = new Blocks<GridRow>((start, stop) => link.ask("grid", start, stop, { row_groups: groups }), BLOCK);
  let coming: Span | null = null; // rows that come with the next view
  let drawing = 0;
  const bar = h("div", { class: "pq-tools" });
  const legend = h("div", { class: "pq-shades" });
  const content = h("div", { class: "pq-grid-content" });
  const said = h("div", { class: "pq-said", role: "status", "aria-live": "polite" });
  const scroller = h(
    "div",
    {
      class: "pq-grid",
      role: "treegrid",
      tabindex: 0,
      "data-name": "grid",
      "aria-label": "Columns of the file by row groups",
      "aria-multiselectable": "true",
      on: { keydown, pointerdown, pointermove, pointerup, pointerleave: () => (isDragging = false) },
    },
    content,
  );
  const element = h("div", { class: "pq-screen" }, bar, legend, scroller, said);

  function update(next: GridBody): void {
    const changed = body === null || body.num_rows !== next.num_rows || body.num_row_groups !== next.num_row_groups;
    const isOther = body !== null && (body.order !== next.order || body.pattern !== next.pattern);
    body = next;
    if (changed || isOther) blocks.clear();
    blocks.invalidate();
    const isComing = coming !== null;
    if (coming !== null) blocks.expect(...coming);
    coming = null;
    if (isOther || active.row >= next.num_rows) active = { row: Math.min(active.row, next.num_rows - 1), column: active.column };
    if (next.at[0] !== visited[0] || next.at[1] !== visited[1]) {
      visited = next.at;
      active = { row: visited[0] ?? active.row, column: visited[1] ?? active.column };
    }
    drawTools(next);
    if (changed || rows === null) mount(next);
    if (!isComing || changed) draw();
  }

  function mount(of: GridBody): void {
    const free = (scroller.clientWidth - NAME_WIDTH) / Math.max(of.num_row_groups, 1);
    cellWidth = clamp(Math.floor(free), ...CELL_WIDTHS);
    scroller.style.height = `${Math.min((of.num_rows + 1) * ROW_HEIGHT + SCROLLBAR, MAX_HEIGHT)}px`;
    rows?.close();
    columns?.close();
    rows = virtual(scroller, { count: of.num_rows, size: ROW_HEIGHT, before: ROW_HEIGHT, change: drawSoon });
    columns = virtual(scroller, {
      count: of.num_row_groups,
      size: cellWidth,
      before: NAME_WIDTH,
      horizontal: true,
      change: drawSoon,
    });
    scroller.setAttribute("aria-rowcount", String(of.num_rows + 1));
    scroller.setAttribute("aria-colcount", String(of.num_row_groups + 1));
  }

  function drawTools(of: GridBody): void {
    const option = (value: string, label: string, chosen: string) =>
      h("option", { value, selected: value === chosen }, label);
    replace(
      bar,
      h(
        "label",
        {},
        "Lens ",
        h(
          "select",
          { "data-name": "lens", on: { change: (e: Event) => look({ lens: (e.target as HTMLSelectElement).value }) } },
          ...of.lenses.map(([value, label]) => option(value, label, of.lens)),
        ),
      ),
      h(
        "label",
        {},
        "Order ",
        h(
          "select",
          { "data-name": "order", on: { change: (e: Event) => look({ order: (e.target as HTMLSelectElement).value }) } },
          option("file", "as in the file", of.order),
          option("size", "largest first", of.order),
          option("name", "by name", of.order),
        ),
      ),
      h("input", {
        type: "search",
        "data-name": "filter",
        "aria-label": "Columns whose name contains",
        placeholder: "Filter columns  ( / )",
        value: of.pattern,
        on: { input: (e: Event) => link.do("look", { pattern: (e.target as HTMLInputElement).value }) },
      }),
      h("span", { class: "pq-muted" }, `${of.num_rows.toLocaleString("en")} rows × ${of.num_row_groups.toLocaleString("en")} row groups`),
    );
    replace(
      legend,
      ...of.legend.map(([shade, label]) => h("span", {}, h("i", { class: shadeClass(of, shade) }), label)),
      h("span", {}, h("i", { class: "pq-absent" }), of.absent),
    );
  }

  /** What is on screen through another lens, or in another order: with the rows in one answer. */
  function look(changes: object): void {
    const shown = rows === null ? null : range(rows.virtualizer);
    if (shown === null || shown[1] === 0) return link.do("look", changes);
    coming = [Math.floor(shown[0] / BLOCK) * BLOCK, Math.ceil(shown[1] / BLOCK) * BLOCK];
    link.do("look", { ...changes, then: { table: "grid", start: coming[0], stop: coming[1], row_groups: groups } });
  }

  /** Once for all that happens before the next frame. */
  function drawSoon(): void {
    if (drawing !== 0) return;
    drawing = requestAnimationFrame(() => {
      drawing = 0;
      draw();
    });
  }

  function draw(): void {
    if (body === null || rows === null || columns === null) return;
    const [first, last] = range(rows.virtualizer);
    const [left, right] = range(columns.virtualizer);
    if (left < groups[0] || right > groups[1]) {
      const width = Math.max(WINDOW, 2 * (right - left));
      const start = Math.max(0, left - Math.floor(width / 4));
      groups = [start, start + width];
      blocks.clear();
    }
    blocks.need(first, last);
    content.style.height = `${rows.virtualizer.getTotalSize()}px`;
    content.style.width = `${columns.virtualizer.getTotalSize()}px`;
    const drawn: Node[] = [head(body, left, right)];
    for (let index = first; index < last; index++) drawn.push(line(body, index, left, right));
    content.replaceChildren(...drawn);
    scroller.setAttribute("aria-activedescendant", cellId(active));
  }

  function head(of: GridBody, left: number, right: number): HTMLElement {
    const cells: Node[] = [h("div", { class: "pq-grid-name", role: "columnheader" }, "column")];
    for (let group = left; group < right; group++) {
      const chosen = isPickedGroup(of, group) && of.picked_row_groups !== null;
      cells.push(
        h(
          "div",
          {
            id: cellId({ row: -1, column: group }),
            class: `pq-cell pq-head${chosen ? " pq-picked" : ""}`,
            role: "columnheader",
            "aria-colindex": group + 2,
            title: `row group ${group}`,
            style: { left: `${NAME_WIDTH + group * cellWidth}px`, width: `${cellWidth - 1}px` },
          },
          String(group),
        ),
      );
    }
    return h("div", { class: "pq-grid-row pq-grid-head", role: "row", "aria-rowindex": 1 }, ...cells);
  }

  function line(of: GridBody, index: number, left: number, right: number): HTMLElement {
    const row = blocks.row(index);
    const isRoot = row?.folded !== null && row?.folded !== undefined;
    const cells: Node[] = [];
    if (row !== undefined) {
      const isActive = active.row === index && active.column === -1;
      cells.push(
        h(
          "div",
          {
            id: cellId({ row: index, column: -1 }),
            class: `pq-grid-name${row.picked ? " pq-picked" : ""}${isActive ? " pq-active" : ""}`,
            role: "rowheader",
            title: `${row.name}: ${row.type}, ${row.size}`,
            style: { "padding-left": `${8 + (row.level - 1) * 16}px` },
          },
          isRoot && h("span", { class: "pq-fold" }, row.folded ? "▸" : "▾"),
          h("span", { class: "pq-name" }, row.name),
          h("span", { class: "pq-muted pq-number" }, row.size),
          h("span", { class: "pq-meter", style: { width: `${Math.max(2, Math.round(row.share * 60))}px` } }),
        ),
      );
      for (let group = left; group < right; group++) {
        const cell = row.cells[group - groups[0]];
        if (cell !== undefined) cells.push(cellOf(of, row, cell, { row: index, column: group }));
      }
    }
    return h(
      "div",
      {
        class: "pq-grid-row",
        role: "row",
        "aria-rowindex": index + 2,
        "aria-level": row?.level,
        "aria-expanded": isRoot ? String(!row?.folded) : undefined,
        style: { transform: `translateY(${ROW_HEIGHT + index * ROW_HEIGHT}px)` },
      },
      ...cells,
    );
  }

  function cellOf(of: GridBody, row: GridRow, [shade, short, full]: Cell, place: Place): HTMLElement {
    const chosen = isPicked(of, row, place);
    const isActive = active.row === place.row && active.column === place.column;
    return h(
      "div",
      {
        id: cellId(place),
        class: `pq-cell ${shadeClass(of, shade)}${chosen ? " pq-picked" : ""}${isActive ? " pq-active" : ""}`,
        role: "gridcell",
        "aria-colindex": place.column + 2,
        "aria-selected": String(chosen),
        "aria-label": `${row.name}, row group ${place.column}: ${full}`,
        title: `${row.name}, row group ${place.column}: ${full}`,
        style: { left: `${NAME_WIDTH + place.column * cellWidth}px`, width: `${cellWidth - 1}px` },
      },
      short,
    );
  }

  function isPicked(of: GridBody, row: GridRow, place: Place): boolean {
    if (anchor !== null && isDragging) return inside(place.row, anchor.row, active.row) && inside(place.column, anchor.column, active.column);
    const isAny = of.are_columns_picked || of.picked_row_groups !== null;
    return isAny && (row.picked || !of.are_columns_picked) && isPickedGroup(of, place.column);
  }

  function take(answer: Rows): void {
    if (!link.isCurrent(answer) || answer.first_row_group !== groups[0]) return;
    const palette = answer.palette ?? [];
    const unpacked = (answer.rows as PackedRow[]).map((row) => ({ ...row, cells: row.cells.map((cell) => palette[cell] as Cell) }));
    blocks.take(answer.start, unpacked);
    drawSoon();
  }

  function at(event: MouseEvent): Place | null {
    const box = scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (body === null || x > scroller.clientWidth || y > scroller.clientHeight) return null;
    const row = y < ROW_HEIGHT ? -1 : Math.floor((y + scroller.scrollTop - ROW_HEIGHT) / ROW_HEIGHT);
    const column = x < NAME_WIDTH ? -1 : Math.floor((x + scroller.scrollLeft - NAME_WIDTH) / cellWidth);
    return row >= body.num_rows || column >= body.num_row_groups || (row < 0 && column < 0) ? null : { row, column };
  }

  function pointerdown(event: PointerEvent): void {
    const place = at(event);
    if (place === null || event.button !== 0) return;
    const row = blocks.row(place.row);
    if (row !== undefined && row.folded !== null && place.column === -1 && event.offsetX < 28) {
      link.do("fold", { root: row.root });
      return;
    }
    anchor = event.shiftKey && anchor !== null ? anchor : place;
    active = place;
    isDragging = true;
    draw();
  }

  function pointermove(event: PointerEvent): void {
    const place = isDragging ? at(event) : null;
    if (place === null || anchor === null) return;
    // From a head one drags along heads, from a cell over cells.
    const row = anchor.row === -1 ? -1 : Math.max(place.row, 0);
    const column = anchor.column === -1 ? -1 : Math.max(place.column, 0);
    if (row === active.row && column === active.column) return;
    active = { row, column };
    draw();
  }

  function pointerup(event: PointerEvent): void {
    if (!isDragging || anchor === null) return;
    isDragging = false;
    scroller.focus({ preventScroll: true });
    if (isSecondClick(cellId(active))) {
      open();
      return;
    }
    pick(anchor, active, event.ctrlKey || event.metaKey ? "toggle" : "replace");
    draw();
  }

  function pick(from: Place, to: Place, mode: string): void {
    const span = (a: number, b: number): Span => [Math.min(a, b), Math.max(a, b) + 1];
    link.do("pick_cells", {
      rows: from.row === -1 ? null : span(from.row, to.row),
      row_groups: from.column === -1 ? null : span(from.column, to.column),
      mode,
    });
  }

  function open(): void {
    const row = blocks.row(active.row);
    if (row === undefined) return;
    if (row.leaf === null) link.do("fold", { root: row.root });
    else if (active.column < 0) link.go({ screen: "column", leaf: row.leaf });
    else link.go({ screen: "chunk", leaf: row.leaf, row_group: active.column });
  }

  function keydown(event: KeyboardEvent): void {
    if (body === null || rows === null || columns === null) return;
    const step = KEYS[event.key];
    const row = blocks.row(active.row);
    if (step !== undefined) {
      const isFolding = row !== undefined && row.folded !== null && active.column === -1;
      if (isFolding && ((event.key === "ArrowLeft" && !row.folded) || (event.key === "ArrowRight" && row.folded))) {
        link.do("fold", { root: row.root });
      } else {
        const from = anchor !== null && event.shiftKey ? anchor : active;
        active = {
          row: clamp(active.row + step[0], 0, body.num_rows - 1),
          column: clamp(active.column + step[1], event.shiftKey && from.column !== -1 ? 0 : -1, body.num_row_groups - 1),
        };
        anchor = from;
        show();
        if (event.shiftKey) pick(from, from.column === -1 ? { ...active, column: -1 } : active, "replace");
        else anchor = null;
      }
    } else if (event.key === "PageDown" || event.key === "PageUp" || event.key === "Home" || event.key === "End") {
      const page = Math.max(1, Math.floor(scroller.clientHeight / ROW_HEIGHT) - 2);
      const rowOf: { [key: string]: number } = { PageDown: active.row + page, PageUp: active.row - page, Home: 0, End: body.num_rows - 1 };
      active = { row: clamp(rowOf[event.key] ?? 0, 0, body.num_rows - 1), column: active.column };
      show();
    } else if (event.key === " ") pick(active, active, event.ctrlKey ? "toggle" : "replace");
    else if (event.key === "Enter") open();
    else if (event.key === "Escape") {
      anchor = null;
      link.do("clear");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function show(): void {
    rows?.virtualizer.scrollToIndex(Math.max(active.row, 0));
    if (active.column >= 0) columns?.virtualizer.scrollToIndex(active.column);
    draw();
    const cell = blocks.row(active.row)?.cells[active.column - groups[0]];
    const row = blocks.row(active.row);
    if (row !== undefined) said.textContent = cell === undefined ? `${row.name}: ${row.type}, ${row.size}` : `${row.name}, row group ${active.column}: ${cell[2]}`;
  }

  function close(): void {
    rows?.close();
    columns?.close();
  }

  const keys = (): Keys => [
    ["↑ ↓ ← →", "moves"],
    ["Shift+arrows", "picks"],
    ["Space", "picks one"],
    ["Ctrl+Space", "adds, takes away"],
    ["Enter", active.column < 0 ? "opens the column" : "opens the chunk"],
    ["Esc", "picks everything"],
    ["/", "filters"],
  ];

  return {
    element,
    update,
    rows: (answer) => answer.table === "grid" && take(answer),
    close,
    keys,
    focus: () => scroller.focus({ preventScroll: true }),
    enter: show,
    search: () => bar.querySelector("input")?.focus(),
  };
}

const shadeClass = (of: GridBody, shade: number): string =>
  shade < 0 ? "pq-absent" : of.lens === "encoding" ? `pq-hue-${shade}` : `pq-shade-${shade}`;

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

const inside = (value: number, one: number, other: number): boolean =>
  value >= Math.min(one, other) && value <= Math.max(one, other);

const isPickedGroup = (of: GridBody, group: number): boolean =>
  of.picked_row_groups === null || of.picked_row_groups.some(([start, stop]) => start <= group && group < stop);
