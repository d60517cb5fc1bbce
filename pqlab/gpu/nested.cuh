// Nested columns, the Dremel way (native/cpu/nested.hpp): a page's levels, then tiles of its
// entries, a warp a tile. At depth k an entry begins a slot where its repetition level is at most k
// and its definition level reaches that of the k-th list. Slots are counted tile by tile; sums of
// the counts say where each tile's slots lie in the output; then tiles are filled.
#pragma once
#include "listing.cuh"

namespace pq {

// Levels of a page to `levels`: repetition levels, where something repeats, then definition levels.
struct PageLevels {
  const u16* repetition;  // null: nothing repeats
  const u16* definition;

  __device__ PageLevels(const PageWork& work, const u16* levels)
      : repetition(work.max_repetition_level == 0 ? nullptr : levels + work.nested),
        definition(levels + work.nested + (work.max_repetition_level == 0 ? 0 : work.num_values)) {}

  __device__ u32 r(u64 i) const { return repetition == nullptr ? 0 : repetition[i]; }
  __device__ u32 d(u64 i) const { return definition[i]; }
};

__device__ inline StatusWord list_some_levels(LevelForm form, u32 max_level, u32 count,
                                              const LevelBytes& from, u16* out) {
  const StatusWord word =
      form == LevelForm::PACKED_IN_BODY
          ? levels_from_bit_packed(Warp{}, from.bytes, from.size, max_level, count, out)
          : levels_from_rle(Warp{}, from.bytes, from.size, max_level, count, out);
  Warp::sync();
  return word;
}

__device__ inline StatusWord list_repetition(const PageWork& work, const u8* bytes, u16* levels,
                                             PageState& state) {
  if (work.max_repetition_level == 0) return STATUS_OK;
  LevelBytes from{bytes + work.repetition, work.repetition_bytes};
  const StatusWord word = take_levels(work.repetition_form, work.max_repetition_level,
                                      work.num_values, bytes, from, state);
  if (word != STATUS_OK) return word;
  return list_some_levels(work.repetition_form, work.max_repetition_level, work.num_values, from,
                          levels + work.nested);
}

__device__ inline StatusWord list_definition(const PageWork& work, const u8* bytes, u16* levels,
                                             PageState& state) {
  LevelBytes from;
  const StatusWord word = take_definition(work, bytes, from, state);
  if (word != STATUS_OK) return word;
  u16* out = levels + work.nested + (work.max_repetition_level == 0 ? 0 : work.num_values);
  return list_some_levels(work.definition_form, work.max_definition_level, work.num_values, from,
                          out);
}

// An entry that repeats at depth k goes on with a list that has an element, before it and in it.
// `needed`: of each depth its list's level. The place of an error is (entry, repetition level).
__device__ inline StatusWord check_order(const PageWork& work, const PageLevels& levels,
                                         const u32* needed) {
  u64 wrong = NOTHING_WRONG;
  if (levels.repetition == nullptr) return STATUS_OK;
  for (u64 i = Warp::rank(); i < work.num_values; i += Warp::SIZE) {
    const u32 r = levels.r(i), level = needed[r];
    const bool bad = levels.d(i) < level || (i != 0 && levels.d(i - 1) < level);
    const StatusWord word = status_word(Status::LEVEL, i << 16 | r);
    if (bad && word < wrong) wrong = word;
  }
  wrong = Warp::least(wrong);
  return wrong == NOTHING_WRONG ? STATUS_OK : wrong;
}

// What a page's entries say once they are found to be right.
__device__ inline NestedEnds count_page(const PageWork& work, const PageLevels& levels,
                                        u64& num_valid) {
  u32 rows = 0, valid = 0;
  for (u64 i = Warp::rank(); i < work.num_values; i += Warp::SIZE) {
    rows += levels.r(i) == 0 ? 1 : 0;
    valid += levels.d(i) == work.max_definition_level ? 1 : 0;
  }
  num_valid = Warp::sum(valid);
  NestedEnds ends{Warp::sum(rows), 0, 0};
  if (work.num_values != 0) {
    ends.first_repetition = static_cast<u16>(levels.r(0));
    ends.last_definition = static_cast<u16>(levels.d(work.num_values - 1));
  }
  return ends;
}

// Calls use(round's first entry, own entry, whether the tile has it) for 32 entries at a time.
template <class Use>
__device__ void with_entries(const Tile& tile, const Use& use) {
  for (u32 round = 0; round < tile.count; round += Warp::SIZE) {
    const u32 i = round + Warp::rank();
    use(tile.first + round, static_cast<u64>(tile.first) + i, i < tile.count);
  }
}

// The entries that begin a row; the page's first one goes on with, or begins, the row from which
// the page's rows are counted.
__device__ inline bool begins_row(const PageLevels& levels, u64 entry) {
  return entry != 0 && levels.r(entry) == 0;
}

__device__ inline NestedCounts count_tile(const PageWork& work, const PageLevels& levels,
                                          const Tile& tile) {
  u32 rows = 0, values = 0;
  with_entries(tile, [&](u64, u64 entry, bool inside) {
    if (!inside) return;
    rows += begins_row(levels, entry) ? 1 : 0;
    values += levels.d(entry) == work.max_definition_level ? 1 : 0;
  });
  return {Warp::sum(rows), Warp::sum(values)};
}

// Whether a row is in one of the sorted ranges.
__device__ inline bool is_kept(const Kept* kept, u32 count, u64 row) {
  u32 low = 0, high = count;
  while (low < high) {  // the first that does not end before the row
    const u32 middle = low + (high - low) / 2;
    if (kept[middle].stop <= row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && row >= kept[low].start;
}

// A word a round: which of its entries lie in rows that are kept. `row`: of the entry before the
// tile.
__device__ inline void mark_kept(const PageLevels& levels, const Tile& tile, const Kept* kept,
                                 u32 num_kept, u64 row, u32* out) {
  with_entries(tile, [&](u64 round, u64 entry, bool inside) {
    const u32 begins = Warp::ballot(inside && begins_row(levels, entry));
    const u32 upto = begins & (~0u >> (Warp::SIZE - 1 - Warp::rank()));
    const u64 own = row + static_cast<u32>(__popc(upto));
    const u32 word = Warp::ballot(inside && is_kept(kept, num_kept, own));
    if (Warp::leader()) out[(round - tile.first) / Warp::SIZE] = word;
    row += static_cast<u32>(__popc(begins));
  });
}

// Of a round the entries that are kept and begin a slot at `depth`, whose list has this level.
__device__ inline u32 slots_of(const PageLevels& levels, u32 kept, u32 depth, u32 level, u64 entry,
                               bool inside) {
  const bool begins = inside && (kept >> Warp::rank() & 1) != 0 && levels.r(entry) <= depth &&
                      levels.d(entry) >= level;
  return Warp::ballot(begins);
}

__device__ inline u32 before(u32 bits) {
  return static_cast<u32>(__popc(bits & ((1u << Warp::rank()) - 1)));
}

__device__ inline bool has(u32 bits) { return (bits >> Warp::rank() & 1) != 0; }

// Writes the bits of consecutive slots, from slot `at` on, that the lanes of `slots` begin.
__device__ inline void put_slot_bits(u32 slots, bool set, u64 at, u32* out) {
  const u32 bits = Warp::bits_of_all(has(slots) && set ? 1u << before(slots) : 0);
  if (!Warp::leader() || bits == 0) return;
  const u64 shifted = static_cast<u64>(bits) << at % 32;
  atomicOr(&out[at / 32], static_cast<u32>(shifted));
  if (shifted >> 32 != 0) atomicOr(&out[at / 32 + 1], static_cast<u32>(shifted >> 32));
}

}  // namespace pq
