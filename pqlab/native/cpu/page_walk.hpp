// Walks the page headers of one column chunk through windows of its bytes: the caller fetches a
// window, the walker says where the next one must start.
#pragma once
#include <string>
#include <vector>

#include "error.hpp"
#include "page_walk.cuh"

namespace pq {

enum class WalkEnd : u8 {
  DONE = 0,        // the chunk's last page has been seen
  WINDOW = 1,      // the next header starts at or beyond the window's end
  HEADER_CUT = 2,  // the next header starts inside the window and does not end in it
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
