// The tables of a plan: the same bytes are numpy structured arrays in Python
// (pqlab/plan/tables.py). Chunks stand in the order (row group, leaf), as many of each row group as
// leaves are read.
#pragma once
#include "config.cuh"

namespace pq {

// `num_rows`: of the row group, whatever is wanted of it.
struct PlannedRowGroup {
  i64 num_rows;
  i32 row_group;
  u32 first_range;
  u32 num_ranges;
  u32 reserved;
};

// Rows [start, stop) of a row group that are wanted.
struct PlannedRange {
  i64 start;
  i64 stop;
};

// Of PlannedChunk::flags.
constexpr u8 CHUNK_IS_RESOLVED =
    1;  // its runs are some of its pages; else the one run is all of it

struct PlannedChunk {
  i64 num_values;  // as the metadata says
  u32 first_run;
  u32 num_runs;
  i32 row_group;
  i32 leaf;
  i32 codec;
  u8 flags;
  u8 reserved[3];
};

// Consecutive whole pages of a chunk: bytes [start, stop) of the file.
struct PlannedRun {
  i64 start;
  i64 stop;
  i64 first_row;   // of the first data page, within the row group
  i64 num_rows;    // -1: unknown
  i32 first_page;  // -1: a dictionary page alone
  i32 num_pages;   // -1: unknown
};

static_assert(sizeof(PlannedRowGroup) == 24, "pqlab/plan/tables.py has the same layout");
static_assert(sizeof(PlannedRange) == 16, "pqlab/plan/tables.py has the same layout");
static_assert(sizeof(PlannedChunk) == 32, "pqlab/plan/tables.py has the same layout");
static_assert(sizeof(PlannedRun) == 40, "pqlab/plan/tables.py has the same layout");

}  // namespace pq
