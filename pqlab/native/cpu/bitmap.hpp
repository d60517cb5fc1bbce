// Bitmaps that several threads fill: each its own range of bits. Bytes that two ranges may share
// are changed atomically.
#pragma once
#include "leaf.hpp"

namespace pq {

inline u64 count_bits(const u8* bitmap, u64 start, u64 count) {
  u64 sum = 0;
  for (; count >= 64; start += 64, count -= 64) sum += popcount(get_bits(bitmap, start, 64));
  return count == 0 ? sum : sum + popcount(get_bits(bitmap, start, static_cast<u32>(count)));
}

inline void or_bits(u8* bitmap, u64 at, u64 bits) {
  __atomic_fetch_or(bitmap + at / 8, static_cast<u8>(bits << (at & 7)), __ATOMIC_RELAXED);
}

// Calls edge(at, n) for the bits of shared bytes, inside(at, n) for the whole bytes between them.
template <class Edge, class Inside>
inline void split_at_bytes(u64 at, u64 count, Edge&& edge, Inside&& inside) {
  const u64 head = (8 - (at & 7)) & 7;
  const u64 first = count < head ? count : head;
  if (first != 0) edge(at, static_cast<u32>(first));
  at += first, count -= first;
  const u64 whole = count & ~7ull;
  if (whole != 0) inside(at, whole);
  if (count != whole) edge(at + whole, static_cast<u32>(count - whole));
}

// Bits [start, start + count) of a bitmap to bit `at` of `out`, where they are zero.
inline void merge_bits(const u8* bitmap, u64 start, u64 count, u8* out, u64 at) {
  split_at_bytes(
      at, count, [&](u64 to, u32 n) { or_bits(out, to, get_bits(bitmap, start + (to - at), n)); },
      [&](u64 to, u64 n) { put_bits(CpuThread{}, bitmap, start + (to - at), n, out, to); });
}

inline void merge_ones(u64 count, u8* out, u64 at) {
  split_at_bytes(
      at, count, [&](u64 to, u32 n) { or_bits(out, to, low_bits(n)); },
      [&](u64 to, u64 n) { std::memset(out + to / 8, 0xff, n / 8); });
}

}  // namespace pq
