// What only the values before tell, by a warp a page: levels, runs, differences.
#pragma once
#include "../native/alp.cuh"
#include "../native/delta.cuh"
#include "../native/dictionary.cuh"
#include "../native/levels.cuh"
#include "groups.cuh"
#include "work.cuh"

namespace pq {

constexpr u32 WARPS_OF_LISTING = 4;  // of a block

// The calling warp, of all that are launched.
__device__ inline u32 warp_ordinal() {
  return blockIdx.x * WARPS_OF_LISTING + threadIdx.x / Warp::SIZE;
}

// Calls use(page, its work) for the page of the calling warp.
template <class Use>
__device__ void with_page(const PageWork* works, const u32* pages, u32 count, StatusWord* errors,
                          const Use& use) {
  const u32 warp = warp_ordinal();
  if (warp >= count) return;
  const u32 page = pages[warp];
  const StatusWord word = use(page, works[page]);
  if (word != STATUS_OK && Warp::leader()) atomicMin(&errors[page], word);
}

// Calls use(its work, its state) for the page's values, of which none are left if they are wrong.
template <class Use>
__device__ void with_values(const PageWork* works, const u32* pages, u32 count, StatusWord* errors,
                            PageState* states, const Use& use) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork& work) {
    PageState state = states[page];
    const StatusWord word = state.num_valid == 0 ? STATUS_OK : use(work, state);
    if (word != STATUS_OK) state.num_valid = 0;
    Warp::sync();
    if (Warp::leader()) states[page] = state;
    return word;
  });
}

// Where levels of a page are.
struct LevelBytes {
  const u8* bytes;
  u64 size;
};

// The page before any levels are taken from it.
__device__ inline PageState whole_page(const PageWork& work) {
  return {work.body, work.body_bytes, work.num_values};
}

// Finds levels; the values of a page that begins with them are behind them.
__device__ inline StatusWord take_levels(LevelForm form, u32 max_level, u32 count, const u8* bytes,
                                         LevelBytes& levels, PageState& state) {
  if (form == LevelForm::NONE || form == LevelForm::RLE_APART) return STATUS_OK;
  if (form == LevelForm::RLE_IN_BODY) {
    if (state.values_bytes < sizeof(u32)) return status_word(Status::TRUNCATED, 0);
    levels.size = load<u32>(bytes + state.values);
    state.values += sizeof(u32);
    state.values_bytes -= sizeof(u32);
    if (levels.size > state.values_bytes) return status_word(Status::TRUNCATED, 0);
  } else {
    const u64 size = packed_bytes(count, bit_width(max_level));
    levels.size = size < state.values_bytes ? size : state.values_bytes;
  }
  levels.bytes = bytes + state.values;
  state.values += levels.size;
  state.values_bytes -= levels.size;
  return STATUS_OK;
}

__device__ inline StatusWord take_definition(const PageWork& work, const u8* bytes,
                                             LevelBytes& levels, PageState& state) {
  levels = {bytes + work.definition, work.definition_bytes};
  return take_levels(work.definition_form, work.max_definition_level, work.num_values, bytes,
                     levels, state);
}

// Writes the values before every RANK_ROWS-th row; gives how many there are in all.
__device__ inline u64 count_valid(const PageWork& work, const u8* bitmaps, u32* ranks) {
  const u32* words = reinterpret_cast<const u32*>(bitmaps + work.bitmap);
  u32* out = ranks + work.ranks / sizeof(u32);
  u32 before = 0;
  for (u32 first = 0; first < work.num_values; first += Warp::SIZE * 32) {
    const u32 row = first + Warp::rank() * 32;
    const u32 bits = row < work.num_values ? static_cast<u32>(__popc(words[row / 32])) : 0;
    const u32 rank = before + Warp::exclusive_sum(bits);
    if (row < work.num_values && row % RANK_ROWS == 0) out[row / RANK_ROWS] = rank;
    before += Warp::sum(bits);
  }
  return before;
}

// A flat page's definition levels to its bitmap, zero before, and its ranks.
__device__ inline StatusWord list_validity(const PageWork& work, const u8* bytes, u8* bitmaps,
                                           u32* ranks, PageState& state) {
  state = whole_page(work);
  if (work.definition_form == LevelForm::NONE) return STATUS_OK;
  LevelBytes levels;
  StatusWord word = take_definition(work, bytes, levels, state);
  if (word == STATUS_OK) {
    u8* validity = bitmaps + work.bitmap;
    const u32 max_level = work.max_definition_level;
    word = work.definition_form == LevelForm::PACKED_IN_BODY
               ? validity_from_bit_packed(Warp{}, levels.bytes, levels.size, max_level,
                                          work.num_values, validity)
               : validity_from_rle(Warp{}, levels.bytes, levels.size, max_level, work.num_values,
                                   validity);
    Warp::sync();
  }
  state.num_valid = word == STATUS_OK ? count_valid(work, bitmaps, ranks) : 0;
  return word;
}

// Whether a page has the bytes that its values of one width take; of a dictionary of byte arrays,
// those that their lengths take.
__device__ inline StatusWord check_size(const PageWork& work, const PageState& state) {
  const u64 most = state.values_bytes / (work.width != 0 ? work.width : sizeof(u32));
  return state.num_valid > most ? status_word(Status::TRUNCATED, most) : STATUS_OK;
}

__device__ inline StatusWord check_bits(const PageState& state) {
  const bool fits = packed_bytes(state.num_valid, 1) <= state.values_bytes;
  return fits ? STATUS_OK : status_word(Status::TRUNCATED, state.values_bytes * 8);
}

// Sink: dictionary indices, each below `entries`.
struct IndexSink {
  u32* out;
  u32 entries;
  u32 width;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    if (run.value >= entries) return status_word(Status::INDEX, at);
    fill_run(group, run.value, run.count, out + at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    u64 bad = run.count;
    for (u64 i = group.rank(); i < run.count; i += group.size()) {
      const u64 index = unpack_one(run.bytes, run.size, width, i);
      if (index >= entries && i < bad) bad = i;
      out[at + i] = static_cast<u32>(index);
    }
    bad = group.least(bad);
    return bad == run.count ? STATUS_OK : status_word(Status::INDEX, at + bad);
  }
};

__device__ inline StatusWord list_indices(const PageWork& work, const PageState& state,
                                          const u8* bytes, u32* out) {
  if (work.entries == NOWHERE) return status_word(Status::NO_DICTIONARY, 0);
  if (state.values_bytes == 0) return status_word(Status::TRUNCATED, 0);
  const u32 width = bytes[state.values];
  IndexSink sink{out, work.num_entries, width};
  if (width == 0) return sink.fill(Warp{}, 0, Run{state.num_valid, 0, false, nullptr, 0});
  const HybridReader reader(bytes + state.values + 1, state.values_bytes - 1, width);
  return decode_hybrid(Warp{}, reader, state.num_valid, sink);
}

template <class T>
__device__ StatusWord list_deltas(const u8* bytes, u64 size, u64 count, T* out) {
  u64 used;
  return decode_deltas(Warp{}, bytes, size, count, out, used);
}

// A number a value, with which the page begins; its values are then what is behind them.
__device__ inline StatusWord take_deltas(const u8* bytes, PageState& state, u32* out) {
  u64 used;
  const StatusWord word =
      decode_deltas(Warp{}, bytes + state.values, state.values_bytes, state.num_valid, out, used);
  state.values += used;
  state.values_bytes -= used;
  return word;
}

template <class F>
__device__ StatusWord list_alp(const u8* bytes, u64 size, u64 count, F* out) {
  return decode_alp(Warp{}, bytes, size, count, out);
}

// Booleans in the RLE encoding, whose bytes have their length before them, into a zeroed bitmap.
__device__ inline StatusWord list_booleans(const PageState& state, const u8* bytes, u8* out) {
  if (state.values_bytes < sizeof(u32)) return status_word(Status::TRUNCATED, 0);
  const u64 length = load<u32>(bytes + state.values);
  if (length > state.values_bytes - sizeof(u32)) return status_word(Status::TRUNCATED, 0);
  BitSink sink{out};
  const HybridReader reader(bytes + state.values + sizeof(u32), length, 1);
  return decode_hybrid(Warp{}, reader, state.num_valid, sink);
}

}  // namespace pq
