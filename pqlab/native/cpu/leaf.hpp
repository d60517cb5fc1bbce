// The leaf primitives for one CPU thread: overloads of leaf.cuh. Portable scalar code, in tiles
// whose inner loops have no branches, for the instruction set that the file is compiled for
// (loops.hpp).
#pragma once
#include <cstring>

#include "leaf.cuh"

#ifndef PQ_INSTRUCTION_SET
#define PQ_INSTRUCTION_SET portable
#endif
#if defined(__AVX512VBMI2__)
#include "simd/avx512.hpp"
#elif defined(__AVX2__)
#include "simd/avx2.hpp"
#else
#include "simd/portable.hpp"
namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace step = portable_step;
}
}  // namespace pq
#endif

namespace pq {
inline namespace PQ_INSTRUCTION_SET {

// One CPU thread. A type of its own, so that SerialGroup keeps the portable primitives: tests hold
// the two against each other.
struct CpuThread : SerialGroup {};

namespace tile {

// Calls use(first ordinal, values, count) for tile after tile of a run; count is N, a constant, but
// for the last one.
template <u32 N, class V, class Unpack, class Use>
inline void for_each(const Unpack& unpack, const u8* bytes, u64 size, u32 width, u64 count,
                     Use&& use) {
  alignas(64) V values[N];
  const u64 tile_bytes = static_cast<u64>(width) * N / 8;
  const auto unpack_tile = [&] {
    if (tile_bytes + step::BEYOND <= size) {
      unpack(bytes, values);
    } else {
      u8 padded[N * sizeof(V) + step::BEYOND] = {};
      const u64 have = size < tile_bytes ? size : tile_bytes;
      if (have != 0) std::memcpy(padded, bytes, have);
      unpack(padded, values);
      if (have < tile_bytes) {
        bytes += have, size = 0;
        return;
      }
    }
    bytes += tile_bytes, size -= tile_bytes;
  };
  u64 at = 0;
  for (; at + N <= count; at += N) {
    unpack_tile();
    use(at, values, N);
  }
  if (at == count) return;
  unpack_tile();
  use(at, values, static_cast<u32>(count - at));
}

// The same with tiles of u32 up to 32 bits, of u64 above.
template <class Use>
inline void for_each_value(const u8* bytes, u64 size, u32 width, u64 count, Use&& use) {
  if (width > 32) {
    for_each<step::WIDE_TILE, u64>(step::UnpackWide(width), bytes, size, width, count, use);
  } else {
    for_each<step::TILE, u32>(step::Unpack(width), bytes, size, width, count, use);
  }
}

}  // namespace tile

template <class Map, class T>
inline void map_run(const CpuThread&, const u8* bytes, u64 size, u32 width, u64 count,
                    const Map& map, T* out) {
  tile::for_each_value(bytes, size, width, count, [&](u64 at, const auto* values, u32 n) {
    for (u32 i = 0; i < n; ++i) out[at + i] = map(values[i]);
  });
}

template <class T>
inline void unpack_run(const CpuThread& thread, const u8* bytes, u64 size, u32 width, u64 count,
                       T* out) {
  map_run(thread, bytes, size, width, count, [](u64 value) { return static_cast<T>(value); }, out);
}

template <class T>
inline T sum_run(const CpuThread&, const u8* bytes, u64 size, u32 width, u64 count, T base, T last,
                 T* out) {
  if (width == 0) {
    for (u64 i = 0; i < count; ++i) out[i] = static_cast<T>(last + base * static_cast<T>(i + 1));
    return static_cast<T>(last + base * static_cast<T>(count));
  }
  const auto sum = [&](u64 at, const auto* values, u32 n) {
    constexpr u32 N = sizeof(*values) == sizeof(u32) ? step::TILE : step::WIDE_TILE;
    if (n == N) {
      last = step::sum<N>(values, base, last, out + at);
      return;
    }
    T sums[N];
    step::sum<N>(values, base, last, sums);
    std::memcpy(out + at, sums, n * sizeof(T));
    last = sums[n - 1];
  };
  if constexpr (sizeof(T) == sizeof(u32)) {
    if (width > 32) {  // rare: what is above the type's bits wraps around
      tile::for_each<step::WIDE_TILE, u64>(step::UnpackWide(width), bytes, size, width, count,
                                           [&](u64 at, const u64* values, u32 n) {
                                             for (u32 i = 0; i < n; ++i) {
                                               last += base + static_cast<T>(values[i]);
                                               out[at + i] = last;
                                             }
                                           });
      return last;
    }
    tile::for_each<step::TILE, u32>(step::Unpack(width), bytes, size, width, count, sum);
  } else {
    tile::for_each_value(bytes, size, width, count, sum);
  }
  return last;
}

template <class T>
inline void fill_run(const CpuThread&, T value, u64 count, T* out) {
  step::fill(value, count, out);
}

template <class T>
inline u64 gather_run(const CpuThread&, const u8* bytes, u64 size, u32 width, u64 count,
                      const T* dictionary, u64 entries, T* out) {
  u64 bad = count;
  const bool any_index_is_one = entries > low_bits(width);
  tile::for_each<step::TILE, u32>(step::Unpack(width), bytes, size, width, count,
                                  [&](u64 at, const u32* indices, u32 n) {
                                    u32 largest = 0;
                                    if (!any_index_is_one) {
                                      for (u32 i = 0; i < n; ++i)
                                        largest = indices[i] > largest ? indices[i] : largest;
                                    }
                                    if (any_index_is_one || largest < entries) {
                                      for (u32 i = 0; i < n; ++i)
                                        out[at + i] = dictionary[indices[i]];
                                      return;
                                    }
                                    for (u32 i = 0; i < n; ++i) {
                                      if (indices[i] >= entries && at + i < bad) bad = at + i;
                                    }
                                  });
  return bad;
}

template <class T>
inline void scatter_valid(const CpuThread&, const u8* validity, u64 count, const T* dense, T* out) {
  for (u64 at = 0; at < count; at += 64) {
    const u32 n = count - at < 64 ? static_cast<u32>(count - at) : 64;
    const u64 bits = get_bits(validity, at, n);
    if (bits == ~0ull) {
      std::memcpy(static_cast<void*>(out + at), dense, 64 * sizeof(T));
      dense += 64;
    } else {
      dense += step::scatter(bits, n, dense, out + at);
    }
  }
}

// Set bits from bit `at` on that lie within one byte.
inline void or_bits_of_byte(u8* out, u64 at, u64 bits) {
  out[at / 8] = static_cast<u8>(out[at / 8] | bits << (at & 7));
}

inline void put_bits(const CpuThread&, const u8* bitmap, u64 start, u64 count, u8* out, u64 at) {
  const u64 head = (8 - (at & 7)) & 7;  // to the next whole byte
  if (head != 0) {
    const u32 n = static_cast<u32>(count < head ? count : head);
    if (n != 0) or_bits_of_byte(out, at, get_bits(bitmap, start, n));
    start += n, at += n, count -= n;
  }
  u8* to = out + at / 8;
  if ((start & 7) == 0) {
    if (count >= 8) std::memcpy(to, bitmap + start / 8, count / 8);
    to += count / 8, start += count & ~7ull, count &= 7;
  }
  for (; count >= 64; count -= 64, start += 64, to += 8) store(to, get_bits(bitmap, start, 64));
  for (; count != 0; ++to) {
    const u32 n = count < 8 ? static_cast<u32>(count) : 8;
    *to = static_cast<u8>(*to | get_bits(bitmap, start, n));
    start += n, count -= n;
  }
}

inline void set_bits(const CpuThread&, u64 count, u8* out, u64 at) {
  const u64 head = (8 - (at & 7)) & 7;
  if (count <= head) {
    if (count != 0) or_bits_of_byte(out, at, low_bits(static_cast<u32>(count)));
    return;
  }
  if (head != 0) or_bits_of_byte(out, at, low_bits(static_cast<u32>(head)));
  count -= head;
  u8* to = out + (at + head) / 8;
  for (; count >= 64; count -= 64, to += 8) store(to, ~0ull);
  for (; count >= 8; count -= 8) *to++ = 0xff;
  if (count != 0) *to = static_cast<u8>(*to | low_bits(static_cast<u32>(count)));
}

inline bool all_utf8(const CpuThread&, const u8* bytes, u64 size, u64 readable) {
  return step::is_utf8(bytes, size, readable);
}

inline View make_view(const CpuThread&, const u8* value, u32 length, u64 readable, u32 buffer,
                      u32 offset) {
  return step::view(value, length, readable, buffer, offset);
}

inline void copy_run(const CpuThread&, const u8* from, u64 count, u8* out) {
  if (count != 0) std::memcpy(out, from, count);
}

inline void copy_literal(const CpuThread&, const u8* from, u64 count, u64 readable, u64 room,
                         u8* out) {
  if (count <= 16 && readable >= 16 && room >= 16) {
    std::memmove(out, from, 16);  // the bytes beyond may overlap
  } else if (count != 0) {
    std::memcpy(out, from, count);
  }
}

// Where the room allows it, whole words are written: the bytes beyond are written again later.
inline void copy_match(const CpuThread&, u64 distance, u64 count, u64 room, u8* out) {
  const u8* from = out - distance;
  if (distance >= 16 && room >= count + 16) {
    for (u64 i = 0; i < count; i += 16) std::memcpy(out + i, from + i, 16);
    return;
  }
  if (distance == 1) {
    std::memset(out, *from, count);
    return;
  }
  // Each copy of the pattern doubles the distance at which it repeats.
  while (distance < 8 && distance < count) {
    std::memcpy(out, from, distance);
    out += distance, count -= distance, room -= distance;
    distance *= 2;
  }
  u64 i = 0;
  if (distance >= 8) {
    const u64 whole = room >= count + 8 ? count : count & ~7ull;
    for (; i < whole; i += 8) std::memcpy(out + i, from + i, 8);
  }
  for (; i < count; ++i) out[i] = from[i];
}

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
