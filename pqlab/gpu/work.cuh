// What kernels are told of the pages that they decode, and what they say of them. Host code has the
// same layouts (pqlab/gpu/work.py). Places are byte offsets into the read's few large buffers:
//
//   bytes      pages as they are stored, or decompressed
//   bitmaps    of flat pages: validity, a bit a row
//   ranks      of every 256th row of a flat page: how many values are before it
//   levels     of nested pages, as u16
//   records    per value that is there: a dictionary index, a decoded number, where a string is
//   entries    dictionaries, decoded
//   outputs    the columns
#pragma once
#include "../native/status.cuh"

namespace pq {

// How a page tells its levels.
enum class LevelForm : u32 {
  NONE = 0,            // all are 0
  RLE_IN_BODY = 1,     // v1: 4 bytes of length, then levels, before the values
  PACKED_IN_BODY = 2,  // v1, deprecated BIT_PACKED: as many bytes as they take
  RLE_APART = 3,       // v2: beside the values, never compressed
};

// Where the booleans of a page are.
enum class BooleanSource : u32 { PLAIN = 0, RECORDS = 1, ENTRIES = 2 };

struct PageWork {
  u64 body;  // in `bytes`; of a v1 page levels come first
  u64 body_bytes;
  u64 repetition;  // levels in `bytes`, of a v2 page
  u64 definition;  // the same
  u64 bitmap;      // in `bitmaps`, a multiple of 8; of a flat page
  u64 ranks;       // in `ranks`, a multiple of 4
  u64 nested;      // in `levels`: repetition levels, then definition levels; of a nested page
  u64 records;     // in `records`, a multiple of 16
  u64 entries;     // in `entries`; NOWHERE: there is no dictionary
  u32 repetition_bytes;
  u32 definition_bytes;
  u32 num_values;  // nulls included
  u32 num_entries;
  u32 max_repetition_level;
  u32 max_definition_level;
  LevelForm repetition_form;
  LevelForm definition_form;
  u32 width;  // bytes of a PLAIN value; 0 where it varies
  BooleanSource boolean_source;
  u32 view_buffer;  // of the column, where views point into the page
  // 1 + the page with whose last value the first prefix is shared (PARQUET-246); 0: none.
  u32 value_before;
};
static_assert(sizeof(PageWork) == 120, "pqlab/gpu/work.py has the same layout");

// What the levels say of a page.
struct PageState {
  u64 values;  // where they begin in `bytes`
  u64 values_bytes;
  u64 num_valid;  // values that are there; 0 where the page is found wrong
};
static_assert(sizeof(PageState) == 24, "pqlab/gpu/work.py has the same layout");

// What is wrong with a page: the least status word, of the least ordinal, whoever finds it first.
constexpr StatusWord NOTHING_WRONG = ~0ull;

// Rows [first, first + count) of a page, which become rows of the output from `out` on. NOWHERE:
// the values of these ranks are only looked at, as whoever reads the whole page does.
struct Tile {
  u64 out;
  u32 page;
  u32 first;
  u32 count;
  u32 reserved;
};
static_assert(sizeof(Tile) == 24, "pqlab/gpu/work.py has the same layout");

// Of a page of DELTA_BYTE_ARRAY: what its values take once they are joined, and what the page after
// it, and its own first value, may have to do with the page before.
struct JoinedSizes {
  u64 bytes;
  u32 first_prefix;
  u32 last_length;
};
static_assert(sizeof(JoinedSizes) == 16, "pqlab/gpu/work.py has the same layout");

// Where a byte array stands among its page's values.
struct StringRecord {
  u32 start;
  u32 length;
};

constexpr u32 TILE_ROWS = 1024;
constexpr u32 RANK_ROWS = 256;
constexpr u64 NOWHERE = ~0ull;
constexpr u32 NO_VALUE = ~0u;

// Of a nested page, what the row that it shares with others depends on.
struct NestedEnds {
  u32 rows;  // that begin in it
  u16 first_repetition;
  u16 last_definition;
};
static_assert(sizeof(NestedEnds) == 8, "pqlab/gpu/work.py has the same layout");

// Entries of a tile: how many begin a row (the page's first one never does), how many have a value.
struct NestedCounts {
  u32 rows;
  u32 values;
};
static_assert(sizeof(NestedCounts) == 8, "pqlab/gpu/work.py has the same layout");

// Rows [start, stop) of a page, from its first entry's row on, whose entries are kept.
struct Kept {
  u64 page;
  u64 start;
  u64 stop;
};
static_assert(sizeof(Kept) == 24, "pqlab/gpu/work.py has the same layout");

// Bytes that are compressed, and where they go.
struct Block {
  u64 from;  // in `bytes`, as all
  u64 from_bytes;
  u64 to;
  u64 to_bytes;
};
static_assert(sizeof(Block) == 32, "pqlab/gpu/work.py has the same layout");

}  // namespace pq
