// What frames on the device need beyond what kernels emit: text as offsets and bytes, nulls
// counted, booleans a byte each; and frames put together from parts of others. A warp a tile of
// rows, words or bytes that lie one after the other.
#pragma once
#include "../native/view.cuh"
#include "words.cuh"
#include "work.cuh"

namespace pq {

// Where the bytes are that views of a buffer point into.
struct ViewSource {
  u64 start;
  u32 joined;  // 1: in the values that were put together; 0: in the pages
  u32 reserved;
};
static_assert(sizeof(ViewSource) == 16, "pqlab/gpu/work.py has the same layout");

// use(i, whether it is below `count`) for the items of the calling warp's tile, by all lanes.
template <class Use>
__device__ void with_items(u64 tile, u64 count, const Use& use) {
  const u64 first = tile * TILE_ROWS;
  for (u32 round = 0; round < TILE_ROWS && first + round < count; round += Warp::SIZE) {
    const u64 i = first + round + Warp::rank();
    use(i, i < count);
  }
}

__device__ inline u64 tile_bytes(const View* views, u64 tile, u64 count) {
  u64 bytes = 0;
  with_items(tile, count, [&](u64 i, bool inside) { bytes += inside ? views[i].length : 0; });
  return Warp::sum(bytes);
}

// `before`: the bytes of the tiles before.
__device__ inline void place_bytes(const View* views, u64 tile, u64 count, u64 before,
                                   i32* offsets) {
  with_items(tile, count, [&](u64 i, bool inside) {
    const u32 length = inside ? views[i].length : 0;
    const u64 start = before + Warp::exclusive_sum(length);
    if (inside) {
      offsets[i] = static_cast<i32>(start);
      if (i + 1 == count) offsets[count] = static_cast<i32>(start + length);
    }
    before += Warp::sum(length);
  });
}

// The last lane whose value begins at or before `at`, of 32 that begin in ascending order.
__device__ inline u32 lane_of(u32 start, u32 at) {
  u32 lane = 0;
  for (u32 step = Warp::SIZE / 2; step != 0; step /= 2) {
    if (Warp::shuffle(start, lane + step) <= at) lane += step;
  }
  return lane;
}

// The bytes of 32 values at a time are shared out among the lanes, however long each value is.
__device__ inline void gather_bytes(const View* views, u64 tile, u64 count,
                                    const ViewSource* sources, const u8* bytes, const u8* joined,
                                    const i32* offsets, u8* out) {
  with_items(tile, count, [&](u64 i, bool inside) {
    const View view = inside ? views[i] : View{};
    const u8* from = reinterpret_cast<const u8*>(views + (inside ? i : 0)) + sizeof(u32);
    if (view.length > MAX_INLINE_LENGTH) {
      const ViewSource source = sources[view.data[1]];
      from = (source.joined != 0 ? joined : bytes) + source.start + view.data[2];
    }
    const u32 start = Warp::exclusive_sum(view.length), total = Warp::sum(view.length);
    const auto address = reinterpret_cast<unsigned long long>(from);
    const u64 first = Warp::shuffle(inside ? static_cast<u64>(offsets[i]) : 0, 0);
    for (u32 at = 0; at < total; at += Warp::SIZE) {
      const u32 byte = at + Warp::rank();
      const u32 lane = lane_of(start, byte);
      const auto* value = reinterpret_cast<const u8*>(Warp::shuffle(address, lane));
      const u32 begin = Warp::shuffle(start, lane);
      if (byte < total) out[first + byte] = value[byte - begin];
    }
  });
}

// Bits that are set, of whole words.
__device__ inline u32 tile_bits(const u32* words, u64 tile, u64 count) {
  u32 bits = 0;
  with_items(tile, count,
             [&](u64 i, bool inside) { bits += inside ? static_cast<u32>(__popc(words[i])) : 0; });
  return Warp::sum(bits);
}

// Of the bits of `move_bits`. A warp makes a word at a time; the outermost ones are shared with
// other launches.
__device__ inline void copy_bits(u64 tile, const u32* words, u64 first, u64 count, u64 to,
                                 u32* out) {
  const u64 ahead = to % 32;
  with_items(tile, ahead + count, [&](u64 i, bool inside) {
    const bool wanted = inside && i >= ahead;
    const u64 from = first + (wanted ? i - ahead : 0);
    const u32 made = Warp::ballot(wanted && (words[from / 32] >> from % 32 & 1) != 0);
    if (Warp::leader() && made != 0) atomicOr(&out[to / 32 + i / 32], made);
  });
}

}  // namespace pq
