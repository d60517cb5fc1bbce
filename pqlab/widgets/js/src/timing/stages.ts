// How stages are drawn: a colour, a pattern over it, and a letter; on canvas as in the style sheet.

import { h } from "../dom";
import type { Stage } from "./messages";

export const INK = "#14181f";
// In the order of DRAWN in pqlab/inspector/timing/stages.py.
const COLOURS: [colour: string, second: string, pattern: "" | "/" | "-" | "|"][] = [
  ["#aab2bd", "#c3c9d1", ""],
  ["#f08a86", "#f8c9c7", "/"],
  ["#79aef2", "#aecef7", "-"],
  ["#f6b26b", "#f6b26b", ""],
  ["#b9a3f2", "#d6caf8", "|"],
  ["#7ccf9b", "#7ccf9b", ""],
  ["#62cfcb", "#a5e4e2", "/"],
  ["#ecd05c", "#ecd05c", ""],
];

const TILE = 6;

export type Fills = (CanvasPattern | string)[];

/** What the stages are filled with, by their ordinal. */
export function fills(context: CanvasRenderingContext2D): Fills {
  return COLOURS.map(([colour, second, pattern]) => {
    if (pattern === "") return colour;
    const tile = h("canvas", { width: TILE, height: TILE });
    const paint = tile.getContext("2d");
    if (paint === null) return colour;
    paint.fillStyle = colour;
    paint.fillRect(0, 0, TILE, TILE);
    paint.fillStyle = second;
    if (pattern === "-") paint.fillRect(0, 4, TILE, 2);
    else if (pattern === "|") paint.fillRect(4, 0, 2, TILE);
    else for (let at = 0; at < TILE; at++) for (const step of [0, 1]) paint.fillRect((at + step) % TILE, TILE - 1 - at, 1, 1);
    return context.createPattern(tile, "repeat") ?? colour;
  });
}

export const classOf = (drawn: number): string => `pq-drawn pq-drawn-${drawn}`;

/** The letter of a stage on its colour. */
export const swatch = (stage: { drawn: number; letter: string }): HTMLElement =>
  h("i", { class: classOf(stage.drawn), "aria-hidden": "true" }, stage.letter);

export function legend(stages: Stage[]): HTMLElement[] {
  return stages.map((stage) =>
    h(
      "span",
      { role: "listitem", title: stage.what },
      swatch(stage),
      h("span", {}, stage.name),
      h("span", { class: "pq-number pq-muted" }, `${stage.total} · ${stage.share}`),
    ),
  );
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A time as `text.duration` writes it, with three digits. */
export function duration(ns: number): string {
  const [scale, unit] = UNITS.find(([size]) => ns >= size) ?? [1, "ns"];
  const value = ns / scale;
  if (unit === "ns") return `${Math.round(value)} ns`;
  return `${value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

/** Round times between two, about so many, with a text for each. */
export function ticks(first: number, last: number, about: number): [at: number, label: string][] {
  const rough = Math.max((last - first) / Math.max(about, 1), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10);
  const [scale, unit] = UNITS.find(([size]) => last - first >= size) ?? [1, "ns"];
  const found: [number, string][] = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
    const value = at / scale;
    const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
    found.push([at, `${value.toFixed(Math.min(digits, 6))} ${unit}`]);
  }
  return found;
}
