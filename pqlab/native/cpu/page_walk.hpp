// Walks the page headers of one column chunk through windows of its bytes: the caller fetches a
// window, the walker says where the next one must start.
#pragma once
#include <string>
#include <vector>

#include "error.hpp"
#include "page_header.cuh"

namespace pq {

enum class WalkEnd : u8 {
  DONE = 0,        // the chunk's last page has been seen
  WINDOW = 1,      // the next header starts at or beyond the window's end
  HEADER_CUT = 2,  // the next header starts inside the window and does not end in it
};

// Where a walk stands; handed from window to window.
struct WalkState {
  i64 position;     // in the file: of the next header
  i64 stop;         // of the chunk, as its metadata says
  i64 hard_stop;    // what no page may pass
  i64 num_values;   // of the chunk, as its metadata says; 0: it does not
  i64 values_left;  // negative: the pages hold more
  i64 first_row;    // of the next page within the row group; -1: unknown
  i32 row_group;
  i32 leaf;
  i32 page;             // ordinal of the next data page
  bool flat;            // max_repetition_level is 0: a v1 page has as many rows as values
  bool has_dictionary;  // a dictionary page was seen
};

struct WalkResult {
  WalkEnd end = WalkEnd::DONE;
  std::vector<Page> pages;
  std::vector<u8> statistics;  // what `min_start` and `max_start` of `pages` point into
  i64 unknown_pages = 0;       // pages of a type that the format does not have: skipped
  i64 passed_over_fields = 0;  // optional header fields of a wrong type
  std::string warning;         // why the walk ended early; empty: it did not
};

// `window` holds the file's bytes [window_start, window_start + window_size) and covers
// `state.position`. Throws Error (Corrupt) with offset, row group, leaf, page and field.
WalkResult walk_page_headers(const u8* window, u64 window_size, i64 window_start, WalkState& state);

// "DataPageHeader.num_values" and what is wrong with it.
Error page_header_error(const PageHeaderOutcome& outcome, i64 header_offset);

}  // namespace pq
