// Where the byte arrays of a page are. PLAIN ones follow each other by their lengths, which looks
// like work for one thread: but every byte of a window can say at once where the value after it
// would begin if one began there, and from the first value the others are reached by doubling.
#pragma once
#include "device.cuh"
#include "emit.cuh"
#include "groups.cuh"
#include "listing.cuh"

namespace pq {

constexpr u32 WINDOW_BYTES = 1024;
constexpr u32 WINDOW_LANE_BYTES = WINDOW_BYTES / Warp::SIZE;  // a word of marks a lane
static_assert(WINDOW_LANE_BYTES == 32, "a lane's marks are one word");

// What a warp works in.
struct StringWindow {
  u16 next[WINDOW_BYTES];  // where the value after the one that begins here begins
  u32 marks[Warp::SIZE];   // of bytes where a value begins
};

// Marks where values begin, the first one at `at`. Lengths are those that stand in
// bytes[at, size); one that leads out of the window leads to WINDOW_BYTES.
__device__ inline u32 mark_window(const u8* bytes, u64 size, u64 at, StringWindow& window) {
  constexpr u32 OUT = WINDOW_BYTES;
  const u32 lane = Warp::rank(), first = lane * WINDOW_LANE_BYTES;
  u32 next[WINDOW_LANE_BYTES];
#pragma unroll
  for (u32 i = 0; i < WINDOW_LANE_BYTES; ++i) {
    const u64 position = at + first + i;
    const u64 length = position + sizeof(u32) <= size ? load_words<u32>(bytes + position) : OUT;
    const u64 to = first + i + sizeof(u32) + length;
    next[i] = to < OUT ? static_cast<u32>(to) : OUT;
    window.next[first + i] = static_cast<u16>(next[i]);
  }
  u32 marks = lane == 0 ? 1 : 0;
  window.marks[lane] = marks;
  Warp::sync();
  // `next` leads on by 1, 2, 4 ... values; marked are the values that fewer lead to.
  for (;;) {
    bool more = false;
    for (u32 left = marks; left != 0; left &= left - 1) {
      const u32 to = window.next[first + static_cast<u32>(__ffs(static_cast<int>(left)) - 1)];
      if (to == OUT) continue;
      atomicOr(&window.marks[to / 32], 1u << to % 32);
      more = true;
    }
    if (!Warp::any(more)) return marks;
#pragma unroll
    for (u32 i = 0; i < WINDOW_LANE_BYTES; ++i) {
      if (next[i] != OUT) next[i] = window.next[next[i]];
    }
    Warp::sync();
#pragma unroll
    for (u32 i = 0; i < WINDOW_LANE_BYTES; ++i) {
      window.next[first + i] = static_cast<u16>(next[i]);
    }
    marks = window.marks[lane];
    Warp::sync();
  }
}

// `count` PLAIN byte arrays of bytes[0, size). The place of an error is a value's ordinal.
__device__ inline StatusWord list_strings(const u8* bytes, u64 size, u64 count,
                                          StringRecord* records, StringWindow& window) {
  u64 at = 0;
  for (u64 done = 0; done < count;) {
    const u32 marks = mark_window(bytes, size, at, window);
    const u32 own = static_cast<u32>(__popc(marks));
    u64 ordinal = done + Warp::exclusive_sum(own);
    u64 end = 0;  // of the last value that begins here
    StatusWord wrong = NOTHING_WRONG;
    for (u32 left = marks; left != 0 && ordinal < count; left &= left - 1, ++ordinal) {
      const u32 byte = static_cast<u32>(__ffs(static_cast<int>(left)) - 1);
      const u64 start = at + Warp::rank() * WINDOW_LANE_BYTES + byte + sizeof(u32);
      if (start > size) {
        wrong = status_word(Status::TRUNCATED, ordinal);
        break;
      }
      const u32 length = load_words<u32>(bytes + start - sizeof(u32));
      if (length > size - start) {
        wrong = status_word(Status::VALUE_LENGTH, ordinal);
        break;
      }
      records[ordinal] = {static_cast<u32>(start), length};
      end = start + length;
    }
    wrong = Warp::least(wrong);
    if (wrong != NOTHING_WRONG) return wrong;
    done += Warp::sum(own);
    at = ~Warp::least(~end);  // the greatest
    Warp::sync();
  }
  return STATUS_OK;
}

// Lengths to records of values that follow each other in `size` bytes.
__device__ inline StatusWord list_lengths(const u32* lengths, u64 size, u64 count,
                                          StringRecord* records) {
  u64 at = 0;
  for (u64 first = 0; first < count; first += Warp::SIZE) {
    const u64 i = first + Warp::rank();
    const u64 length = i < count ? lengths[i] : 0;
    const u64 start = at + Warp::exclusive_sum(length);
    const bool beyond = start > size || length > size - start;
    if (Warp::any(beyond)) {
      return status_word(Status::VALUE_LENGTH, Warp::least(beyond ? i : count));
    }
    if (i < count) records[i] = {static_cast<u32>(start), static_cast<u32>(length)};
    at += Warp::sum(length);
  }
  return STATUS_OK;
}

// DELTA_LENGTH_BYTE_ARRAY: the page's bytes are then those behind the lengths. Behind the records
// is room for the lengths.
__device__ inline StatusWord list_delta_lengths(const u8* bytes, PageState& state,
                                                StringRecord* records) {
  u32* lengths = reinterpret_cast<u32*>(records + state.num_valid);
  const StatusWord word = take_deltas(bytes, state, lengths);
  if (word != STATUS_OK) return word;
  return list_lengths(lengths, state.values_bytes, state.num_valid, records);
}

}  // namespace pq
