// From the values that are there to the rows of the output: for each row its bit, for each set bit
// the rank of its value, for each rank what a source has there, for that what the output holds. A
// block writes a tile of rows: here a page's size is no longer any one warp's burden.
#pragma once
#include "../native/bits.cuh"
#include "../native/convert.cuh"
#include "words.cuh"
#include "work.cuh"

namespace pq {

// What an emit kernel reads; the same for all. `positions`: of a nested column, of each row of the
// output the rank of its value within its page, or NO_VALUE; of flat ones null.
struct Decoded {
  const PageWork* works;
  const PageState* states;
  const Tile* tiles;
  const u8* bytes;
  const u8* bitmaps;
  const u32* ranks;
  const u8* records;
  const u8* entries;
  const u32* positions;
};

// Of a row of a page: whether its value is there, and how many are before it.
struct Place {
  bool valid;
  u64 rank;
};

__device__ inline Place place_in_bitmap(const PageWork& work, const Decoded& decoded, u32 row) {
  const auto* words = reinterpret_cast<const u32*>(decoded.bitmaps + work.bitmap);
  u64 rank = decoded.ranks[work.ranks / sizeof(u32) + row / RANK_ROWS];
  for (u32 word = row / RANK_ROWS * (RANK_ROWS / 32); word < row / 32; ++word) {
    rank += static_cast<u32>(__popc(words[word]));
  }
  const u32 bits = words[row / 32], below = bits & ((1u << row % 32) - 1);
  return {(bits >> row % 32 & 1) != 0, rank + static_cast<u32>(__popc(below))};
}

// Row `i` of a tile.
__device__ inline Place place_of(const Decoded& decoded, const Tile& tile, u32 i) {
  const PageWork& work = decoded.works[tile.page];
  const u64 num_valid = decoded.states[tile.page].num_valid;
  const u32 row = tile.first + i;
  if (tile.out == NOWHERE) return {row < num_valid, row};
  if (num_valid == 0) return {false, 0};
  if (decoded.positions != nullptr) {
    const u32 position = decoded.positions[tile.out + i];
    return {position != NO_VALUE, position};
  }
  if (num_valid == work.num_values) return {true, row};
  return place_in_bitmap(work, decoded, row);
}

// Sources: the stored value of a rank. That the page has it is known by now.

// PLAIN values of whole words.
template <class Raw>
struct PlainSource {
  __device__ static Raw value(const Decoded& decoded, const PageWork&, const PageState& state,
                              u64 rank) {
    return load_words<Raw>(decoded.bytes + state.values + rank * sizeof(Raw));
  }
};

// BYTE_STREAM_SPLIT: byte k of every value stands in stream k.
template <class Raw>
struct StreamSource {
  __device__ static Raw value(const Decoded& decoded, const PageWork&, const PageState& state,
                              u64 rank) {
    const u64 stream = state.values_bytes / sizeof(Raw);
    const u8* from = decoded.bytes + state.values + rank;
    Raw value;
    auto* words = reinterpret_cast<u32*>(&value);
#pragma unroll
    for (u32 i = 0; i < sizeof(Raw) / sizeof(u32); ++i) {
      u32 word = 0;
#pragma unroll
      for (u32 k = 0; k < sizeof(u32); ++k) {
        word |= static_cast<u32>(from[(i * sizeof(u32) + k) * stream]) << (8 * k);
      }
      words[i] = word;
    }
    return value;
  }
};

// Numbers that a listing kernel made.
template <class Raw>
struct RecordSource {
  __device__ static Raw value(const Decoded& decoded, const PageWork& work, const PageState&,
                              u64 rank) {
    return reinterpret_cast<const Raw*>(decoded.records + work.records)[rank];
  }
};

// Entries of the dictionary, which are what the output holds.
template <class T>
struct EntrySource {
  __device__ static T value(const Decoded& decoded, const PageWork& work, const PageState&,
                            u64 rank) {
    const u32 index = reinterpret_cast<const u32*>(decoded.records + work.records)[rank];
    return reinterpret_cast<const T*>(decoded.entries + work.entries)[index];
  }
};

// A boolean of a rank; `work.boolean_source` says of what.
__device__ inline bool boolean(const Decoded& decoded, const PageWork& work, const PageState& state,
                               u64 rank) {
  switch (work.boolean_source) {
    case BooleanSource::PLAIN: return get_bit(decoded.bytes + state.values, rank);
    case BooleanSource::RECORDS: return get_bit(decoded.records + work.records, rank);
    case BooleanSource::ENTRIES: break;
  }
  return EntrySource<u8>::value(decoded, work, state, rank) != 0;
}

struct Words3 {
  u32 words[3];
};
struct Words4 {
  u32 words[4];
};

// What is stored is what the output holds.
template <class T>
struct Same {
  using Out = T;
  static constexpr u32 width = sizeof(T);
  __device__ bool operator()(const u8* value, T& out) const {
    out = *reinterpret_cast<const T*>(value);
    return true;
  }
};

// One block, one tile: make(work, state, rank, value) gives false for a value that it refuses.
template <class Out, class Make>
__device__ void emit_tile(const Decoded& decoded, Out* out, StatusWord* errors, Status refused,
                          const Make& make) {
  const Tile tile = decoded.tiles[blockIdx.x];
  const PageWork& work = decoded.works[tile.page];
  const PageState state = decoded.states[tile.page];
  for (u32 i = threadIdx.x; i < tile.count; i += blockDim.x) {
    const Place place = place_of(decoded, tile, i);
    Out value{};
    if (place.valid && !make(work, state, place.rank, value)) {
      atomicMin(&errors[tile.page], status_word(refused, place.rank));
    }
    if (tile.out != NOWHERE) out[tile.out + i] = value;
  }
}

template <class Raw, class Source, class Convert>
__device__ void emit_numbers(const Decoded& decoded, typename Convert::Out* out,
                             StatusWord* errors) {
  emit_tile(
      decoded, out, errors, Status::RANGE,
      [&](const PageWork& work, const PageState& state, u64 rank, typename Convert::Out& value) {
        const Raw raw = Source::value(decoded, work, state, rank);
        return Convert{}(reinterpret_cast<const u8*>(&raw), value);
      });
}

// Bytes of values of any width, a thread a byte. `streams`: BYTE_STREAM_SPLIT, else PLAIN.
__device__ inline void emit_bytes(const Decoded& decoded, bool streams, u8* out) {
  const Tile tile = decoded.tiles[blockIdx.x];
  const PageWork& work = decoded.works[tile.page];
  const PageState state = decoded.states[tile.page];
  const u64 stream = state.values_bytes / work.width;
  for (u32 i = threadIdx.x; i < tile.count * work.width; i += blockDim.x) {
    const u32 byte = i % work.width;
    const Place place = place_of(decoded, tile, i / work.width);
    u8 value = 0;
    if (place.valid) {
      const u64 at = streams ? byte * stream + place.rank : place.rank * work.width + byte;
      value = decoded.bytes[state.values + at];
    }
    out[tile.out * work.width + i] = value;
  }
}

// Sets the bits of a tile's rows in a zeroed bitmap of words: `bit(row of the tile)` of each. A
// warp makes a word; at its edges words are shared with other tiles.
template <class Bit>
__device__ void emit_word_bits(const Tile& tile, u32* out, const Bit& bit) {
  const u64 first_word = tile.out / 32, last_word = (tile.out + tile.count - 1) / 32;
  const u32 lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (u64 word = first_word + threadIdx.x / 32; word <= last_word; word += warps) {
    const u64 row = word * 32 + lane;
    const bool inside = row >= tile.out && row < tile.out + tile.count;
    const u32 bits =
        __ballot_sync(~0u, inside && bit(static_cast<u32>(row - (inside ? tile.out : row))));
    if (lane == 0 && bits != 0) atomicOr(&out[word], bits);
  }
}

}  // namespace pq
