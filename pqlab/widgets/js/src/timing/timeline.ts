// A lane per worker, request slot and consumer; what each did when. Dragged over, it filters.

import { h, replace } from "../dom";
import type { Span } from "../messages";
import type { ExactMarks, Marks, TimingBody } from "./messages";
import { duration, fills, INK, ticks, type Fills } from "./stages";

export const GUTTER = 104;
const LANE = 24;
const AXIS = 22;
const MAX_HEIGHT = 16 * LANE + AXIS;
const LETTER_WIDTH = 12;
const CHARACTER = 6.1;
const ZOOM = 2;

export interface TimelineActions {
  brush(span: Span | null): void;
  zoom(span: Span | null): void;
  open(place: { column: string; row_group: number; page: number; key: number }): void;
  clear(): void;
}

export interface Timeline {
  readonly element: HTMLElement;
  update(body: TimingBody): void;
  take(marks: Marks): void;
  close(): void;
}

export function timeline(actions: TimelineActions): Timeline {
  let body: TimingBody | null = null;
  let marks: Marks | null = null;
  let lanes: number[][] = []; // ordinals of marks by lane, by start
  let dragged: Span | null = null;
  let anchor: number | null = null; // where a drag began, or a mark from which Shift+arrows brush
  let cursor = -1; // a mark
  let isCursorShown = false;
  let patterns: Fills | null = null;
  const canvas = h("canvas", { "aria-hidden": "true" });
  const veils = [0, 1].map(() => h("div", { class: "pq-veil" }));
  const brush = h("div", { class: "pq-brush" });
  const tip = h("div", { class: "pq-tip", "aria-hidden": "true" });
  const said = h("div", { class: "pq-said", role: "status", "aria-live": "polite" });
  const surface = h(
    "div",
    {
      class: "pq-timeline",
      role: "application",
      tabindex: 0,
      "data-name": "timeline",
      "aria-roledescription": "timeline",
      "aria-label": "What ran when. Arrows walk, Shift with arrows brushes, plus and minus zoom; the table below has the same pages.",
      on: { pointerdown, pointermove, pointerup, pointercancel: pointerup, pointerleave: hideTip, dblclick, keydown, wheel, focus: draw, blur: draw },
    },
    canvas,
    ...veils,
    brush,
  );
  const told = h("div", { class: "pq-muted pq-told" });
  const element = h("div", { class: "pq-timeline-box" }, surface, tip, told, said);
  const observer = new ResizeObserver(() => draw());
  observer.observe(surface);
  const themes = new MutationObserver(() => draw());
  themes.observe(document.body, { attributes: true });

  // ------------------------------------------------------------------------- what is told

  function update(next: TimingBody): void {
    body = next;
    draw();
  }

  function take(next: Marks): void {
    const same = marks?.of === next.of;
    marks = next;
    lanes = next.lanes.map(() => []);
    next.lane.forEach((lane, at) => lanes[lane]?.push(at));
    if (!same) [cursor, anchor] = [-1, null];
    const more = next.lanes_left_out > 0 ? ` ${next.lanes_left_out} more lanes are not drawn.` : "";
    replace(told, next.told !== "" && h("span", { "data-name": "binned" }, next.told), more);
    draw();
  }

  // ----------------------------------------------------------------------------- geometry

  const width = (): number => Math.max(surface.clientWidth - GUTTER, 50);
  const span = (): Span => marks?.span ?? body?.shown ?? [0, 1];
  const xOf = (time: number): number => GUTTER + ((time - span()[0]) / (span()[1] - span()[0])) * width();
  const timeOf = (x: number): number => {
    const [first, last] = span();
    return Math.round(first + (Math.min(Math.max(x - GUTTER, 0), width()) / width()) * (last - first));
  };

  /** A mark's [start, stop), ns from the trace's start. */
  function spanOf(at: number): Span {
    const [first, last] = span();
    if (marks === null) return [first, last];
    if (!marks.is_binned) return [first + (marks.start[at] ?? 0), first + (marks.start[at] ?? 0) + (marks.duration[at] ?? 0)];
    const size = (last - first) / marks.num_bins;
    const bin = marks.bin[at] ?? 0;
    return [first + bin * size, first + (bin + 1) * size];
  }

  function markAt(x: number, y: number): number {
    const lane = lanes[Math.floor((y - AXIS) / LANE)];
    if (lane === undefined || x < GUTTER) return -1;
    let [best, distance] = [-1, 3]; // pixels that a thin mark may be missed by
    for (const at of lane) {
      const [start, stop] = spanOf(at);
      const [left, right] = [xOf(start), xOf(stop)];
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < distance || (away === 0 && best >= 0)) [best, distance] = [at, Math.max(away, 0.5)];
      if (left > x + 3) break;
    }
    return best;
  }

  // ------------------------------------------------------------------------------ drawing

  function draw(): void {
    const context = canvas.getContext("2d");
    if (context === null || body === null || surface.clientWidth === 0) return;
    const height = AXIS + Math.max(lanes.length, 1) * LANE;
    const ratio = window.devicePixelRatio || 1;
    surface.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
    canvas.style.height = `${height}px`;
    const [wide, high] = [Math.round(surface.clientWidth * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    patterns ??= fills(context);
    const style = getComputedStyle(surface);
    const [ink, muted, line] = [style.color, style.getPropertyValue("--pq-muted"), style.getPropertyValue("--pq-line")];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, surface.clientWidth, height);
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    axis(context, height, muted, line);
    marks?.lanes.forEach((name, lane) => {
      const y = AXIS + lane * LANE;
      context.fillStyle = ink;
      context.textAlign = "left";
      context.fillText(name, 8, y + LANE / 2, GUTTER - 12);
      context.fillStyle = line;
      context.fillRect(0, y, surface.clientWidth, 1);
    });
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, width(), height);
    context.clip();
    if (marks?.is_binned) bins(context, marks);
    else if (marks !== null) exact(context, marks);
    misses(context, ink);
    if (isCursorShown && surface.matches(":focus") && cursor >= 0) outline(context, ink);
    context.restore();
    overlay();
  }

  function axis(context: CanvasRenderingContext2D, height: number, muted: string, line: string): void {
    const origin = body?.whole[0] ?? 0;
    const [first, last] = span();
    context.textAlign = "center";
    for (const [at, label] of ticks(first - origin, last - origin, width() / 90)) {
      const x = xOf(at + origin);
      context.fillStyle = line;
      context.fillRect(Math.round(x), AXIS - 5, 1, height);
      context.fillStyle = muted;
      const half = (label.length * CHARACTER) / 2;
      if (x - half > GUTTER - 20 && x + half < surface.clientWidth) context.fillText(label, x, AXIS / 2 - 1);
    }
  }

  function exact(context: CanvasRenderingContext2D, of: ExactMarks): void {
    const letters = new Map(body?.legend.map((stage) => [stage.drawn, stage.letter]));
    const chosen = new Set(body?.chosen_columns);
    const picked = body?.picked ?? null;
    of.lane.forEach((lane, at) => {
      const [start, stop] = spanOf(at);
      const x = xOf(start);
      const wide = Math.max(xOf(stop) - x, 1);
      const y = AXIS + lane * LANE + 3;
      const place = of.place[at] ?? -1;
      const column = of.columns[of.pages.column[place] ?? -1];
      context.globalAlpha = chosen.size > 0 && (column === undefined || !chosen.has(column)) ? 0.2 : 1;
      context.fillStyle = patterns?.[of.drawn[at] ?? 0] ?? INK;
      context.fillRect(x, y, wide > 3 ? wide - 0.5 : wide, LANE - 6);
      if (wide >= LETTER_WIDTH) label(context, x, y, wide, letters.get(of.drawn[at] ?? 0) ?? "", column);
      if (picked !== null && place >= 0 && within(picked, of.pages.key[place] ?? -1)) {
        context.fillStyle = getComputedStyle(surface).getPropertyValue("--pq-accent");
        context.fillRect(x, y + LANE - 6, Math.max(wide, 2), 3);
      }
    });
    context.globalAlpha = 1;
  }

  function label(context: CanvasRenderingContext2D, x: number, y: number, wide: number, letter: string, column: string | undefined): void {
    const room = Math.floor((wide - 8) / CHARACTER);
    const words = column !== undefined && room >= column.length + 2 ? `${letter} ${column}` : letter;
    context.fillStyle = INK;
    context.textAlign = "center";
    context.fillText(words, x + wide / 2, y + LANE / 2 - 3, wide);
  }

  function bins(context: CanvasRenderingContext2D, of: Extract<Marks, { is_binned: true }>): void {
    const size = (of.span[1] - of.span[0]) / of.num_bins;
    const wide = width() / of.num_bins;
    let [lane, bin, base] = [-1, -1, 0];
    const order = of.lane.map((_, at) => at).sort((a, b) => (of.lane[a] ?? 0) - (of.lane[b] ?? 0) || (of.bin[a] ?? 0) - (of.bin[b] ?? 0));
    for (const at of order) {
      if (lane !== of.lane[at] || bin !== of.bin[at]) [lane, bin, base] = [of.lane[at] ?? 0, of.bin[at] ?? 0, 0];
      const high = Math.min((of.ns[at] ?? 0) / size, 1 - base) * (LANE - 4);
      context.fillStyle = patterns?.[of.drawn[at] ?? 0] ?? INK;
      context.fillRect(GUTTER + bin * wide, AXIS + (lane + 1) * LANE - 2 - base * (LANE - 4) - high, Math.max(wide, 0.5), high);
      base += high / (LANE - 4);
    }
  }

  /** A triangle where a stall began, with its length where there is room. */
  function misses(context: CanvasRenderingContext2D, ink: string): void {
    const lane = marks?.lanes.indexOf("consumer") ?? -1;
    if (body === null || lane < 0) return;
    const y = AXIS + lane * LANE;
    const colour = getComputedStyle(surface).getPropertyValue("--pq-error");
    for (const [start, stall] of body.misses.rows) {
      const x = xOf(start);
      const room = xOf(start + stall) - x;
      context.fillStyle = colour;
      context.strokeStyle = ink;
      context.beginPath();
      context.moveTo(x - 5, y + 1);
      context.lineTo(x + 6, y + 1);
      context.lineTo(x + 0.5, y + 10);
      context.closePath();
      context.fill();
      const words = `stall ${duration(stall)}`;
      if (room > words.length * CHARACTER + 40) {
        context.fillStyle = INK;
        context.textAlign = "left";
        context.fillText(words, x + 10, y + LANE / 2);
      }
    }
  }

  function outline(context: CanvasRenderingContext2D, ink: string): void {
    const [start, stop] = spanOf(cursor);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.setLineDash([4, 2]);
    context.strokeRect(xOf(start) - 1, AXIS + (marks?.lane[cursor] ?? 0) * LANE + 2, Math.max(xOf(stop) - xOf(start), 2) + 2, LANE - 4);
    context.setLineDash([]);
  }

  function overlay(): void {
    const shown = dragged ?? body?.brush ?? null;
    const [left, right] = veils;
    for (const each of [brush, ...veils]) each.hidden = shown === null;
    if (shown === null || left === undefined || right === undefined) return;
    const [x, end] = [clampX(xOf(shown[0])), clampX(xOf(shown[1]))];
    const height = canvas.style.height;
    place(left, GUTTER, x, height);
    place(right, end, GUTTER + width(), height);
    place(brush, x, Math.max(end, x + 2), height);
  }

  function place(box: HTMLElement, from: number, to: number, height: string): void {
    Object.assign(box.style, { top: box === brush ? "0" : `${AXIS}px`, left: `${from}px`, width: `${Math.max(to - from, 0)}px`, height });
  }

  const clampX = (x: number): number => Math.min(Math.max(x, GUTTER), GUTTER + width());

  // ------------------------------------------------------------------------------- pointer

  const point = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function pointerdown(event: PointerEvent): void {
    const [x, y] = point(event);
    if (event.button !== 0 || x < GUTTER) return;
    surface.focus({ preventScroll: true });
    surface.setPointerCapture(event.pointerId);
    isCursorShown = false;
    cursor = markAt(x, y);
    anchor = timeOf(x);
    event.preventDefault();
  }

  function pointermove(event: PointerEvent): void {
    const [x, y] = point(event);
    if (anchor !== null && surface.hasPointerCapture(event.pointerId)) {
      if (dragged === null && Math.abs(xOf(anchor) - x) < 4) return;
      const to = timeOf(x);
      dragged = [Math.min(anchor, to), Math.max(anchor, to)];
      actions.brush(dragged);
      overlay();
      hideTip();
      return;
    }
    showTip(markAt(x, y), x, y);
  }

  function pointerup(event: PointerEvent): void {
    if (!surface.hasPointerCapture(event.pointerId)) return;
    surface.releasePointerCapture(event.pointerId);
    if (dragged !== null) actions.brush(dragged);
    else if (cursor >= 0) say(cursor);
    else if (body?.brush !== null) actions.brush(null);
    if (dragged !== null && body !== null) body = { ...body, brush: dragged };
    [dragged, anchor] = [null, null];
    overlay();
  }

  function dblclick(event: MouseEvent): void {
    const at = markAt(...point(event));
    if (at >= 0) open(at);
  }

  function wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return; // the notebook scrolls
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1 / ZOOM : ZOOM, timeOf(point(event)[0]));
  }

  function zoom(factor: number, around: number): void {
    if (body === null) return;
    const [first, last] = span();
    const [from, to] = body.whole;
    const next: Span = [Math.max(around - (around - first) * factor, from), Math.min(around + (last - around) * factor, to)];
    const isWhole = next[1] - next[0] >= (to - from) * 0.999;
    actions.zoom(isWhole ? null : [Math.round(next[0]), Math.round(next[1])]);
  }

  // ---------------------------------------------------------------------------------- keys

  function keydown(event: KeyboardEvent): void {
    if (marks === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") walk(event.key === "ArrowRight" ? 1 : -1, event.shiftKey);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") change(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && cursor >= 0) open(cursor);
    else if (event.key === " " && cursor >= 0) actions.brush(rounded(spanOf(cursor)));
    else if (event.key === "+" || event.key === "=") zoom(1 / ZOOM, middle());
    else if (event.key === "-") zoom(ZOOM, middle());
    else if (event.key === "0") actions.zoom(null);
    else if (event.key === "z" && body !== null && body.brush !== null) actions.zoom(body.brush);
    else if (event.key === "Escape") {
      anchor = null;
      actions.clear();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function walk(step: number, isBrush: boolean): void {
    const lane = lanes[cursor < 0 ? 0 : (marks?.lane[cursor] ?? 0)] ?? [];
    const from = cursor;
    const at = lane.indexOf(cursor);
    cursor = lane[Math.min(Math.max(at + (at < 0 ? 1 : step), 0), lane.length - 1)] ?? -1;
    isCursorShown = true;
    if (cursor < 0) return;
    if (isBrush) {
      anchor ??= from < 0 ? cursor : from;
      const [one, other] = [spanOf(anchor), spanOf(cursor)];
      actions.brush(rounded([Math.min(one[0], other[0]), Math.max(one[1], other[1])]));
    } else anchor = null;
    say(cursor);
    draw();
  }

  function change(step: number): void {
    const lane = Math.min(Math.max((cursor < 0 ? -1 : (marks?.lane[cursor] ?? 0)) + step, 0), lanes.length - 1);
    const time = cursor < 0 ? span()[0] : spanOf(cursor)[0];
    cursor = (lanes[lane] ?? []).reduce((best, at) => (best < 0 || Math.abs(spanOf(at)[0] - time) < Math.abs(spanOf(best)[0] - time) ? at : best), -1);
    [isCursorShown, anchor] = [true, null];
    if (cursor >= 0) say(cursor);
    surface.scrollTop = Math.max(0, (lane + 2) * LANE + AXIS - surface.clientHeight);
    draw();
  }

  const middle = (): number => {
    const [first, last] = cursor >= 0 && isCursorShown ? spanOf(cursor) : (body?.brush ?? span());
    return (first + last) / 2;
  };

  const rounded = ([first, last]: Span): Span => [Math.floor(first), Math.ceil(last)];

  // ----------------------------------------------------------------------------- one mark

  function words(at: number): string {
    if (marks === null) return "";
    const stage = body?.legend.find((each) => each.drawn === marks?.drawn[at])?.name ?? "";
    const lane = marks.lanes[marks.lane[at] ?? 0] ?? "";
    const [start, stop] = spanOf(at);
    const since = duration(start - (body?.whole[0] ?? 0));
    if (marks.is_binned) return `${lane}: ${stage} for ${duration(marks.ns[at] ?? 0)} of ${duration(stop - start)}, from ${since} on`;
    const miss = body?.misses.rows.find(([from, stall]) => Math.abs(from - start) < 1 && Math.abs(stall - (stop - start)) < 1);
    if (lane === "consumer" && miss !== undefined) return `${lane}: ${miss[3]}, from ${since} on`;
    const place = placeOf(at);
    const bytes = marks.bytes[at] ?? 0;
    const of = place === null ? "" : `, ${place.column}, row group ${place.row_group}, ${place.page < 0 ? "dictionary" : `page ${place.page}`}`;
    const much = bytes > 0 ? `, ${bytes.toLocaleString("en")} bytes` : "";
    return `${lane}: ${stage} ${duration(stop - start)}${of}${much}, from ${since} on`;
  }

  function placeOf(at: number): { column: string; row_group: number; page: number; key: number } | null {
    if (marks === null || marks.is_binned) return null;
    const place = marks.place[at] ?? -1;
    const { pages, columns } = marks;
    if (place < 0) return null;
    return {
      column: columns[pages.column[place] ?? 0] ?? "",
      row_group: pages.row_group[place] ?? 0,
      page: pages.page[place] ?? 0,
      key: pages.key[place] ?? 0,
    };
  }

  function open(at: number): void {
    const place = placeOf(at);
    if (place !== null) actions.open(place);
  }

  function say(at: number): void {
    said.textContent = words(at);
    const [start, stop] = spanOf(at);
    showTip(at, (clampX(xOf(start)) + clampX(xOf(stop))) / 2, AXIS + (marks?.lane[at] ?? 0) * LANE + LANE / 2);
  }

  function showTip(at: number, x: number, y: number): void {
    if (at < 0) return hideTip();
    tip.textContent = words(at);
    tip.hidden = false;
    const room = surface.clientWidth;
    tip.style.left = `${Math.min(Math.max(x - tip.offsetWidth / 2, 4), Math.max(room - tip.offsetWidth - 4, 4))}px`;
    tip.style.top = `${y - surface.scrollTop + LANE / 2 + 6}px`;
  }

  function hideTip(): void {
    tip.hidden = true;
  }

  hideTip();
  return {
    element,
    update,
    take,
    close: () => {
      observer.disconnect();
      themes.disconnect();
    },
  };
}

const within = (spans: Span[], key: number): boolean => spans.some(([start, stop]) => start <= key && key < stop);
