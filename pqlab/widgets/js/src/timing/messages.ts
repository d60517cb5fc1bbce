// What the timing panel gets; the other end is pqlab/inspector/timing/panel.py. Times are ns.

import type { Span, TableHead } from "../messages";

export interface Stage {
  drawn: number;
  name: string;
  letter: string;
  what: string;
  total: string;
  share: string;
}

export interface Bar {
  column: number | null;
  name: string;
  total: string;
  share: string;
  ns: number;
  parts: [drawn: number, ns: number, took: string, share: string][];
  is_chosen: boolean;
}

export interface Distribution {
  measure: string;
  rows: { name: string; pages: string; bins: number[]; median_at: number; median: string; ninety: string }[];
  ticks: [at: number, label: string][];
  left_out: number;
  most: number;
}

export interface Windows {
  series: { name: string; steps: [time: number, pages: number, why: string][] }[];
  most: number;
  left_out: number;
}

export interface Misses {
  rows: [start: number, stall: number, kind: string, text: string][];
  left_out: number;
  text: string;
}

export interface TimingBody {
  is_empty: boolean;
  figures: [string, string][];
  notes: { text: string; is_warning: boolean }[];
  reads: [number, string][];
  read: number | null;
  whole: Span;
  shown: Span;
  brush: Span | null;
  filter: string;
  marks: string;
  legend: Stage[];
  bars: { rows: Bar[]; left_out: number; most_ns: number };
  distribution: Distribution;
  windows: Windows;
  misses: Misses;
  table: TableHead;
  picked: Span[] | null;
  picks: boolean | null;
  chosen_columns: string[];
  saved: string;
}

interface MarksOf {
  kind: "marks";
  of: string;
  told: string;
  span: Span;
  lanes: string[];
  lanes_left_out: number;
  lane: number[];
  drawn: number[];
}

export interface ExactMarks extends MarksOf {
  is_binned: false;
  start: number[];
  duration: number[];
  place: number[];
  bytes: number[];
  pages: { key: number[]; column: number[]; row_group: number[]; page: number[] };
  columns: string[];
}

export interface BinnedMarks extends MarksOf {
  is_binned: true;
  num_bins: number;
  bin: number[];
  ns: number[];
}

export type Marks = ExactMarks | BinnedMarks;
