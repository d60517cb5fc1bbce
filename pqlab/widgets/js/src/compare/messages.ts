// What the Compare screen gets; the other end is pqlab/inspector/compare/panel.py.

import type { TableHead } from "../messages";

export interface Side {
  amount: number;
  text: string;
  parts: [drawn: number, amount: number, text: string][];
}

export interface PairOfBars {
  name: string;
  left: Side;
  right: Side;
  change: string;
  part: string;
  is_worse: boolean;
}

export interface Pairs {
  ratios: [ratio: number, isRightFirst: number][];
  left_out: number;
  interval: [low: number, median: number, high: number];
  text: string;
  verdict: string;
  matters: number;
  rows: [name: string, mean: string, median: string, least: string][];
}

export interface NothingBody {
  kind: "nothing";
  hint: string;
}

export interface DifferenceBody {
  kind: "files" | "traces" | "runs";
  hint: string;
  names: [string, string];
  headline: string;
  notes: string[];
  parts: [part: string, count: number][];
  part: string | null;
  by_row_group: boolean;
  has_row_groups: boolean;
  left_out: number;
  bars: PairOfBars[];
  most: number;
  stages: [drawn: number, name: string, letter: string][];
  pairs: Pairs | null;
  table: TableHead;
}

export type CompareBody = NothingBody | DifferenceBody;
