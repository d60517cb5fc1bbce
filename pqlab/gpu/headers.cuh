// Page headers, where only the device has the bytes. A header says where the next one is, so a walk
// is one after the other: a warp fetches what a header may take at once, where a thread would wait
// for memory at every byte. Where an index tells all places, a thread takes a page.
#pragma once
#include "../native/page_walk.cuh"
#include "device.cuh"
#include "groups.cuh"
#include "work.cuh"

namespace pq {

constexpr u32 HEADER_WORDS = 128;  // that are fetched at once; longer headers are rare

// How a walk ended.
enum class WalkStop : u32 {
  DONE = 0,
  FULL = 1,   // there was no room for another page
  WRONG = 2,  // whoever walks the same bytes on the host finds what
};

// Where a page is, as an index tells.
struct HeaderPlace {
  u64 at;
  u64 size;  // of header and body
};
static_assert(sizeof(HeaderPlace) == 16, "pqlab/gpu/headers.py has the same layout");

// A chunk to walk: `position` of its state is byte `at` of the bytes, the pages that are found are
// pages[first, first + room).
struct Walk {
  WalkState state;
  u64 at;
  u32 first;
  u32 room;
  u32 count;  // pages that were found
  WalkStop stop;
};
static_assert(sizeof(Walk) == 88, "pqlab/gpu/headers.py has the same layout");

struct HeaderWindow {
  u32 words[HEADER_WORDS];
};

// One copy of a long function, however many kernels call it.
PQ_HD_CALLED PageHeaderOutcome parse_header(const u8* from, u64 size, Page& page) {
  page = unknown_page();
  return parse_page_header(from, size, page);
}

// Parses the header at `from`, of at most `available` bytes. The leader's outcome is what it is.
__device__ inline PageHeaderOutcome parse_staged(const u8* from, u64 available,
                                                 HeaderWindow& window, Page& page) {
  const u64 before = reinterpret_cast<unsigned long long>(from) & 3;
  const auto* words = reinterpret_cast<const u32*>(from - before);
  const u64 num_words = (before + available + 3) / 4;
  Warp::sync();  // the header before has been parsed
  for (u32 i = Warp::rank(); i < HEADER_WORDS && i < num_words; i += Warp::size()) {
    window.words[i] = words[i];
  }
  Warp::sync();
  PageHeaderOutcome outcome;
  if (!Warp::leader()) return outcome;
  const u64 room = sizeof(window.words) - before;
  const u8* staged = reinterpret_cast<const u8*>(window.words) + before;
  outcome = parse_header(staged, available < room ? available : room, page);
  return is_cut(outcome) && available > room ? parse_header(from, available, page) : outcome;
}

// Where a bound's bytes are among all.
__device__ inline void place_bounds(Page& page, u64 header) {
  if (page.min_start >= 0) page.min_start += static_cast<i64>(header);
  if (page.max_start >= 0) page.max_start += static_cast<i64>(header);
}

// Walks a chunk until its end, or until there is no room for another page.
__device__ inline void walk_chunk(Walk& walk, const u8* bytes, HeaderWindow& window, Page* pages) {
  WalkState state = walk.state;
  const i64 to_bytes = static_cast<i64>(walk.at) - state.position;
  u32 count = 0;
  WalkStop stop = WalkStop::DONE;
  for (bool goes_on = true; goes_on;) {
    if (!more_pages(state)) break;
    if (count == walk.room) {
      stop = WalkStop::FULL;
      break;
    }
    const u64 at = static_cast<u64>(state.position + to_bytes);
    const u64 available = static_cast<u64>(state.hard_stop - state.position);
    Page page;
    const PageHeaderOutcome outcome = parse_staged(bytes + at, available, window, page);
    if (Warp::leader()) {
      goes_on = !ends_before(state, outcome, page);
      if (goes_on &&
          (outcome.status != PageHeaderStatus::OK || fault_of(state, page) != PageFault::NONE)) {
        stop = WalkStop::WRONG;
        goes_on = false;
      }
      if (goes_on && take_page(state, page)) {
        place_bounds(page, at);
        pages[walk.first + count++] = page;
      }
    }
    goes_on = Warp::shuffle(goes_on ? 1u : 0u, 0) != 0;
    state.position = static_cast<i64>(Warp::shuffle(static_cast<u64>(state.position), 0));
    state.values_left = static_cast<i64>(Warp::shuffle(static_cast<u64>(state.values_left), 0));
    state.has_dictionary = Warp::shuffle(state.has_dictionary ? 1u : 0u, 0) != 0;
    count = Warp::shuffle(count, 0);
  }
  if (!Warp::leader()) return;
  walk.at = static_cast<u64>(state.position + to_bytes);
  walk.state = state;
  walk.count = count;
  walk.stop = stop;
}

// Parses a header whose place is known.
__device__ inline bool read_header(const u8* bytes, const HeaderPlace& place, Page& page) {
  const PageHeaderOutcome outcome = parse_header(bytes + place.at, place.size, page);
  if (outcome.status != PageHeaderStatus::OK) return false;
  if (static_cast<u64>(page.total_bytes) > place.size) return false;
  place_bounds(page, place.at);
  return true;
}

}  // namespace pq
