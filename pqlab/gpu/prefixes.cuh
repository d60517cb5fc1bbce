// DELTA_BYTE_ARRAY: each value takes over a prefix of the one before it, so its bytes come from
// several: byte j is in the suffix of the last value up to it whose prefix is not longer than j. To
// find that one, the least prefix of every 32 values is kept, of every 32 of these, and so on: a
// warp looks back over any distance in a few steps.
#pragma once
#include "listing.cuh"
#include "views.cuh"

namespace pq {

// What is known of the values of a page, one array after the other, behind the records.
struct Prefixes {
  u32* lengths;   // of the prefixes
  u32* suffixes;  // where each begins, among the page's suffixes
  u32* least;     // of 32, of 1,024 ... prefixes

  __device__ Prefixes(StringRecord* records, u64 count)
      : lengths(reinterpret_cast<u32*>(records + count)),
        suffixes(lengths + count),
        least(suffixes + count) {}
};

// Writes level after level of the least prefixes.
__device__ inline void list_least(const u32* from, u64 count, u32* out) {
  while (count > 1) {
    const u64 groups = (count + Warp::SIZE - 1) / Warp::SIZE;
    for (u64 group = Warp::rank(); group < groups; group += Warp::SIZE) {
      u32 least = ~0u;
      for (u64 i = group * Warp::SIZE; i < count && i < (group + 1) * Warp::SIZE; ++i) {
        least = from[i] < least ? from[i] : least;
      }
      out[group] = least;
    }
    Warp::sync();
    from = out;
    out += groups;
    count = groups;
  }
}

// Lengths of prefixes and suffixes to where values begin once joined, and whether all are as they
// must be. Gives the bytes of all values. A first prefix that may be of the page before is checked
// by the host, who knows the last value of that one.
__device__ inline StatusWord list_joined(const PageWork& work, u64 size, u64 count,
                                         StringRecord* records, const Prefixes& prefixes,
                                         JoinedSizes& sizes) {
  u64 suffixes_end = 0, total = 0;
  u64 before = work.value_before != 0 ? ~0ull : 0;  // the length of the last value
  for (u64 first = 0; first < count; first += Warp::SIZE) {
    const u64 i = first + Warp::rank();
    const bool inside = i < count;
    const u64 prefix = inside ? prefixes.lengths[i] : 0;
    const u64 suffix = inside ? prefixes.suffixes[i] : 0;
    const u64 length = prefix + suffix;
    const u64 last = Warp::shuffle(length, (Warp::rank() + Warp::SIZE - 1) % Warp::SIZE);
    const u64 start = suffixes_end + Warp::exclusive_sum(suffix);
    const u64 joined = total + Warp::exclusive_sum(length);
    Status status = Status::OK;
    if (prefix > (Warp::leader() ? before : last)) {
      status = Status::PREFIX;
    } else if (start > size || suffix > size - start) {
      status = Status::VALUE_LENGTH;
    } else if (work.width != 0 && length != work.width) {
      status = Status::FIXED_LENGTH;
    } else if (length > 0x7fffffff) {
      status = Status::VALUE_LENGTH;
    }
    const bool wrong = inside && status != Status::OK;
    if (Warp::any(wrong)) return Warp::least(wrong ? status_word(status, i) : NOTHING_WRONG);
    if (inside) {
      prefixes.suffixes[i] = static_cast<u32>(start);
      records[i] = {static_cast<u32>(joined), static_cast<u32>(length)};
    }
    suffixes_end += Warp::sum(suffix);
    total += Warp::sum(length);
    const u64 behind = count - first;
    before = Warp::shuffle(length, behind < Warp::SIZE ? static_cast<u32>(behind) - 1 : 31);
  }
  sizes.bytes = total;
  sizes.last_length = static_cast<u32>(before);
  return STATUS_OK;
}

__device__ inline StatusWord list_prefixes(const PageWork& work, const u8* bytes, PageState& state,
                                           StringRecord* records, JoinedSizes& sizes) {
  const u64 count = state.num_valid;
  const Prefixes prefixes(records, count);
  StatusWord word = take_deltas(bytes, state, prefixes.lengths);
  if (word == STATUS_OK) word = take_deltas(bytes, state, prefixes.suffixes);
  if (word != STATUS_OK) return word;
  sizes.first_prefix = prefixes.lengths[0];
  word = list_joined(work, state.values_bytes, count, records, prefixes, sizes);
  if (word == STATUS_OK) list_least(prefixes.lengths, count, prefixes.least);
  return word;
}

// The last of values [first, stop), at most 32, that is below `than`; NOWHERE: none.
__device__ inline u64 last_below(const u32* values, u64 first, u64 stop, u32 than) {
  const u64 at = first + Warp::rank();
  const u32 found = Warp::ballot(at < stop && values[at < stop ? at : first] < than);
  return found == 0 ? NOWHERE : first + 31 - static_cast<u32>(__clz(static_cast<int>(found)));
}

// Prefixes, level 0, or the least ones of a level above it.
__device__ inline const u32* level_of(const Prefixes& prefixes, u64 count, u32 level) {
  if (level == 0) return prefixes.lengths;
  const u32* values = prefixes.least;
  for (; level > 1; --level) {
    count = (count + Warp::SIZE - 1) / Warp::SIZE;
    values += count;
  }
  return values;
}

// The last value before value `i` whose prefix is below `than`, which is above 0; NOWHERE: none, so
// that it is in the page before.
__device__ inline u64 shorter_before(const Prefixes& prefixes, u64 count, u64 i, u32 than) {
  u32 level = 0;
  u64 found = NOWHERE;
  for (;; ++level) {
    const u64 first = i / Warp::SIZE * Warp::SIZE;
    found = last_below(level_of(prefixes, count, level), first, i, than);
    if (found != NOWHERE) break;
    i /= Warp::SIZE;
    if (i == 0) return NOWHERE;
  }
  for (; level > 0; --level) {
    const u64 first = found * Warp::SIZE;
    found = last_below(level_of(prefixes, count, level - 1), first, first + Warp::SIZE, than);
  }
  return found;
}

// Values of a page as join_tile needs them.
struct PrefixedPage {
  u64 count;
  StringRecord* records;
  Prefixes prefixes;
  const u8* suffixes;

  __device__ PrefixedPage(const PageWork& work, const PageState& state, const u8* bytes,
                          const u8* all_records)
      : count(state.num_valid),
        records(reinterpret_cast<StringRecord*>(const_cast<u8*>(all_records) + work.records)),
        prefixes(records, count),
        suffixes(bytes + state.values) {}

  // Copies what value `i` itself has of its first `stop` bytes, which are those of `out`.
  __device__ u32 copy_suffix(u64 i, u32 stop, u8* out) const {
    const u32 prefix = prefixes.lengths[i];
    if (prefix >= stop) return stop;
    const u32 size = stop - prefix;
    copy_literal(Warp{}, suffixes + prefixes.suffixes[i], size, size, size, out + prefix);
    return prefix;
  }

  // The same of value `i` and those before it. Gives how many bytes are left: of pages before.
  __device__ u32 copy(u64 i, u32 stop, u8* out) const {
    for (;;) {
      stop = copy_suffix(i, stop, out);
      if (stop == 0) return 0;
      i = shorter_before(prefixes, count, i, stop);
      if (i == NOWHERE) return stop;
    }
  }
};

// A tile's values, joined from `bytes` to `joined`, a warp a value.
__device__ inline void join_tile(const PageWork* works, const PageState* states, const Tile& tile,
                                 const u8* bytes, const u8* records, u8* joined) {
  const PrefixedPage page(works[tile.page], states[tile.page], bytes, records);
  for (u32 row = threadIdx.x / Warp::SIZE; row < tile.count; row += blockDim.x / Warp::SIZE) {
    const u64 i = tile.first + row;
    if (i >= page.count) return;
    u8* out = joined + page.records[i].start;
    u32 stop = page.copy(i, page.records[i].length, out);
    for (u32 before = works[tile.page].value_before; stop != 0 && before != 0;) {
      const PageWork& work = works[before - 1];
      const PageState& state = states[before - 1];
      before = work.value_before;
      if (state.num_valid == 0) continue;
      stop = PrefixedPage(work, state, bytes, records).copy(state.num_valid - 1, stop, out);
    }
  }
}

}  // namespace pq
