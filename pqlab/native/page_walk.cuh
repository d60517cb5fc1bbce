// The walk over the page headers of a column chunk, step by step, for host and device: where it
// stands, whether a page that a header tells of is the chunk's, and what it moves on.
#pragma once
#include "page_header.cuh"

namespace pq {

// Where a walk stands; handed from window to window, and from host to device.
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
static_assert(sizeof(WalkState) == 64, "pqlab/gpu/headers.py has the same layout");

// What is wrong with a page of whose header nothing is.
enum class PageFault : u8 { NONE, BEYOND_CHUNK, SECOND_DICTIONARY, LATE_DICTIONARY };

PQ_HD bool is_data(PageType type) {
  return type == PageType::DATA_PAGE || type == PageType::DATA_PAGE_V2;
}

PQ_HD bool all_values_seen(const WalkState& s) { return s.num_values > 0 && s.values_left == 0; }

// Old writers leave the dictionary page's header out of a chunk's size: values that are missing
// at `stop` may follow within the slack up to `hard_stop`.
PQ_HD bool more_pages(const WalkState& s) {
  if (s.position < s.stop) return true;
  return s.has_dictionary && s.num_values > 0 && s.values_left > 0 && s.position < s.hard_stop;
}

// True if what stands here is not the chunk's: its values are all seen, or its size is. A size
// that is too large leads into the next chunk.
PQ_HD bool ends_before(const WalkState& s, const PageHeaderOutcome& outcome, const Page& page) {
  const bool bad =
      outcome.status != PageHeaderStatus::OK || s.position + page.total_bytes > s.hard_stop;
  if (!all_values_seen(s)) return bad && s.position >= s.stop;
  return bad || page.num_values > 0 || page.type == PageType::DICTIONARY_PAGE;
}

PQ_HD PageFault fault_of(const WalkState& s, const Page& page) {
  const i64 page_stop = s.position + page.total_bytes;
  const bool completes = s.has_dictionary && s.num_values > 0 && is_data(page.type) &&
                         page.num_values == s.values_left;
  if (page_stop > s.hard_stop || (page_stop > s.stop && !completes)) return PageFault::BEYOND_CHUNK;
  if (page.type != PageType::DICTIONARY_PAGE) return PageFault::NONE;
  if (s.has_dictionary) return PageFault::SECOND_DICTIONARY;
  return s.page != 0 ? PageFault::LATE_DICTIONARY : PageFault::NONE;
}

// Moves on behind a page. False: it is of a kind that holds no values, and no row of the table.
PQ_HD bool take_page(WalkState& s, Page& page) {
  const i64 offset = s.position;
  s.position += page.total_bytes;
  const bool dictionary = page.type == PageType::DICTIONARY_PAGE;
  if (!dictionary && !is_data(page.type)) return false;
  page.offset = offset;
  page.row_group = s.row_group;
  page.leaf = s.leaf;
  page.page = dictionary ? -1 : s.page;
  if (dictionary) {
    s.has_dictionary = true;
    return true;
  }
  if (page.type == PageType::DATA_PAGE && s.flat) page.num_rows = page.num_values;
  page.first_row = s.first_row;
  const bool counts_rows = page.num_rows >= 0 && s.first_row >= 0;
  s.first_row = counts_rows ? s.first_row + page.num_rows : -1;
  s.values_left -= page.num_values;
  ++s.page;
  return true;
}

// Whether the bytes end within the header.
PQ_HD bool is_cut(const PageHeaderOutcome& outcome) {
  return outcome.status == PageHeaderStatus::THRIFT &&
         (outcome.thrift == ThriftStatus::TRUNCATED || outcome.thrift == ThriftStatus::TOO_LONG);
}

}  // namespace pq
