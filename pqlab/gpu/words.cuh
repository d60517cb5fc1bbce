// Bytes by aligned words: a device takes no misaligned load, and loads of single bytes would be
// four times as many.
#pragma once
#include "groups.cuh"

namespace pq {

// A value at any address. Up to 3 bytes before it and 4 behind it are read.
template <class T>
__device__ T load_words(const u8* from) {
  constexpr u32 WORDS = sizeof(T) / sizeof(u32);
  static_assert(sizeof(T) % sizeof(u32) == 0 && alignof(T) >= alignof(u32), "whole words");
  const u32 shift = static_cast<u32>(reinterpret_cast<unsigned long long>(from) & 3) * 8;
  const auto* words = reinterpret_cast<const u32*>(from - shift / 8);
  T value;
  auto* out = reinterpret_cast<u32*>(&value);
  u32 low = words[0];
#pragma unroll
  for (u32 i = 0; i < WORDS; ++i) {
    const u32 high = words[i + 1];
    out[i] = __funnelshift_r(low, high, shift);
    low = high;
  }
  return value;
}

// Bytes that no one writes meanwhile, of what lies beside them neither: a word a lane.
__device__ inline void copy_literal(const Warp& warp, const u8* from, u64 count, u64, u64,
                                    u8* out) {
  constexpr u64 WORTH_IT = 4 * Warp::SIZE;
  const u64 head = -reinterpret_cast<unsigned long long>(out) & 3;
  if (count < WORTH_IT) {
    for (u64 i = warp.rank(); i < count; i += warp.size()) out[i] = from[i];
    return;
  }
  const u64 words = (count - head) / 4, tail = head + 4 * words;
  if (warp.rank() < head) out[warp.rank()] = from[warp.rank()];
  auto* to = reinterpret_cast<u32*>(out + head);
  for (u64 i = warp.rank(); i < words; i += warp.size()) {
    to[i] = load_words<u32>(from + head + 4 * i);
  }
  if (warp.rank() < count - tail) out[tail + warp.rank()] = from[tail + warp.rank()];
}

}  // namespace pq
