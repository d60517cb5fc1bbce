// What goes over the wire; the other end is pqlab/inspector/session.py.

import type { CompareBody } from "./compare/messages";
import type { Marks, TimingBody } from "./timing/messages";

export type Ordinal = number | null;
export type Span = readonly [number, number];

export interface Go {
  screen: string;
  row_group?: number;
  leaf?: number;
  page?: number;
  tab?: string;
}

export interface Identity {
  title: string;
  subtitle: string;
  figures: [string, string][];
}

export interface Crumb {
  label: string;
  go: Go;
}

export interface Part {
  name: string;
  size: string;
  share: string;
  bytes: number;
  kind: string;
  ordinal: Ordinal;
}

export interface OverviewBody {
  kinds: Part[];
  parts: Part[];
  facts: { name: string; value: string; is_warning: boolean }[];
  schema: SchemaRow[];
  num_left_out: number;
  keys: [key: string, value: string, decoded: string[]][];
  num_keys: number;
}

export interface SchemaRow {
  name: string;
  leaf: Ordinal;
  level: number;
  type: string;
  repetition: string;
  storage: string;
  nulls: string;
  size: string;
  ratio: string;
}

export interface GridBody {
  num_rows: number;
  num_row_groups: number;
  lens: string;
  lenses: [string, string][];
  order: string;
  pattern: string;
  picked_row_groups: Span[] | null;
  are_columns_picked: boolean;
  legend: [number, string][];
  absent: string;
  at: readonly [row: Ordinal, row_group: Ordinal];
}

export type Cell = readonly [shade: number, short: string, full: string];

export interface GridRow {
  root: number;
  leaf: Ordinal;
  level: number;
  folded: boolean | null;
  name: string;
  type: string;
  size: string;
  share: number;
  picked: boolean;
  cells: Cell[];
}

/** As it is sent: each cell is a place in the palette. */
export type PackedRow = Omit<GridRow, "cells"> & { cells: number[] };

export interface TableHead {
  num_rows: number;
  columns: { name: string; heading: string; is_number: boolean }[];
  order: string | null;
  descending: boolean;
}

export interface ColumnBody {
  leaf: number;
  column: string;
  table: TableHead;
}

export interface ChunkBody {
  row_group: number;
  leaf: number;
  column: string;
  tab: string;
  page: Ordinal;
  sections: [string, [string, string][]][];
  pages: TableHead | null;
  picked_pages: Span[];
  to_read: string;
  has_headers: boolean;
  dictionary: TableHead | null;
  dictionary_to_read: string;
  is_dictionary_large: boolean;
  bloom: BloomTab;
  search: string;
  page_content: PageContent | null;
}

export interface BloomTab {
  to_read: string;
  none: string;
  facts: [string, string][];
  value: string;
  answer: "absent" | "maybe" | "unknown" | "wrong" | null;
  words: string;
}

export interface PageContent {
  page: number;
  header: string[];
  values: string[];
  hex: string[];
  hex_left_out: string;
}

export interface Failure {
  kind: string;
  message: string;
  place: string;
  hint: string;
}

interface ViewOf<Screen extends string, Body> {
  kind: "view";
  version: number;
  screen: Screen;
  identity: Identity;
  crumbs: Crumb[];
  up: Go | null;
  body: Body;
}

export type View =
  | ViewOf<"overview", OverviewBody>
  | ViewOf<"grid", GridBody>
  | ViewOf<"column", ColumnBody>
  | ViewOf<"chunk", ChunkBody>
  | ViewOf<"timing", TimingBody>
  | ViewOf<"compare", CompareBody>;

export interface Rows {
  kind: "rows";
  table: string;
  version: number;
  start: number;
  rows: unknown[];
  keys?: number[];
  first_row_group?: number;
  palette?: Cell[];
}

export interface Slice {
  kind: "slice";
  text: string;
  notes: string[];
  details: string[];
  is_planned: boolean;
  is_everything: boolean;
  variable: string;
  confirm: boolean;
  error: Failure | null;
}

export interface Run {
  kind: "run";
  state: "running" | "cancelling" | "done" | "cancelled" | "failed";
  variable: string;
  share: number;
  text: string;
  error: Failure | null;
}

export interface Copy {
  kind: "copy";
  what: string;
  text: string;
}

export type Incoming = View | Rows | Slice | Run | Copy | Marks | { kind: "error"; error: Failure };
