// The leaf primitives for one CPU thread: overloads of leaf.cuh. Portable scalar code, in tiles
// whose inner loops have no branches, for the instruction set that the file is compiled for
// (loops.hpp).
#pragma once
#include <cstring>
#include <utility>

#include "leaf.cuh"

#ifndef PQ_INSTRUCTION_SET
#define PQ_INSTRUCTION_SET portable
#endif

namespace pq {
inline namespace PQ_INSTRUCTION_SET {

// One CPU thread. A type of its own, so that SerialGroup keeps the portable primitives: tests hold
// the two against each other.
struct CpuThread : SerialGroup {};

namespace tile {

constexpr u32 SIZE = 32;  // values; a tile of width w is exactly w 32-bit words

template <u32 WIDTH>
inline void unpack(const u8* bytes, u32* out) {
  if constexpr (WIDTH == 0) {
    std::memset(out, 0, SIZE * sizeof(u32));
  } else {
    u32 words[WIDTH + 1];
    std::memcpy(words, bytes, WIDTH * sizeof(u32));
    words[WIDTH] = 0;
    constexpr u32 MASK = WIDTH == 32 ? ~0u : (1u << (WIDTH % 32)) - 1;
#pragma GCC unroll 32
    for (u32 i = 0; i < SIZE; ++i) {
      const u32 word = i * WIDTH / 32, shift = i * WIDTH % 32;
      const u64 pair = words[word] | static_cast<u64>(words[word + 1]) << 32;
      out[i] = static_cast<u32>(pair >> shift) & MASK;
    }
  }
}

using Unpack = void (*)(const u8*, u32*);

template <class Widths>
struct Table;
template <u32... WIDTHS>
struct Table<std::integer_sequence<u32, WIDTHS...>> {
  static constexpr Unpack of[] = {unpack<WIDTHS>...};
};
using Unpackers = Table<std::make_integer_sequence<u32, 33>>;

// Calls use(first ordinal, values, count) for tile after tile of a run.
template <class Use>
inline void for_each(const u8* bytes, u64 size, u32 width, u64 count, Use&& use) {
  alignas(64) u32 values[SIZE];
  const Unpack unpack_tile = Unpackers::of[width];
  const u64 tile_bytes = static_cast<u64>(width) * 4;
  u64 at = 0;
  for (; at + SIZE <= count && tile_bytes <= size; at += SIZE) {
    unpack_tile(bytes, values);
    use(at, values, SIZE);
    bytes += tile_bytes;
    size -= tile_bytes;
  }
  while (at < count) {
    u8 padded[SIZE * 4] = {};
    const u64 have = size < tile_bytes ? size : tile_bytes;
    if (have != 0) std::memcpy(padded, bytes, have);
    unpack_tile(padded, values);
    const u32 left = count - at < SIZE ? static_cast<u32>(count - at) : SIZE;
    use(at, values, left);
    bytes += have;
    size -= have;
    at += left;
  }
}

// Calls use(ordinal, value) for values of more than 32 bits.
template <class Use>
inline void for_each_wide(const u8* bytes, u64 size, u32 width, u64 count, Use&& use) {
  u64 i = 0;
  if (width <= 57) {  // with up to 7 bits before it, within one word
    for (u64 bit = 0; i < count && (bit >> 3) + sizeof(u64) <= size; ++i, bit += width) {
      use(i, load<u64>(bytes + (bit >> 3)) >> (bit & 7) & low_bits(width));
    }
  }
  for (; i < count; ++i) use(i, unpack_one(bytes, size, width, i));
}

}  // namespace tile

template <class Map, class T>
inline void map_run(const CpuThread&, const u8* bytes, u64 size, u32 width, u64 count,
                    const Map& map, T* out) {
  if (width > 32) {
    tile::for_each_wide(bytes, size, width, count,
                        [&](u64 at, u64 value) { out[at] = map(value); });
    return;
  }
  tile::for_each(bytes, size, width, count, [&](u64 at, const u32* values, u32 n) {
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
  if (width > 32) {
    tile::for_each_wide(bytes, size, width, count, [&](u64 at, u64 value) {
      out[at] = last = static_cast<T>(last + base + value);
    });
    return last;
  }
  tile::for_each(bytes, size, width, count, [&](u64 at, const u32* values, u32 n) {
    T differences[tile::SIZE];
    for (u32 i = 0; i < tile::SIZE; ++i) differences[i] = static_cast<T>(base + values[i]);
    for (u32 i = 0; i < n; ++i) out[at + i] = last = static_cast<T>(last + differences[i]);
  });
  return last;
}

template <class T>
inline u64 gather_run(const CpuThread&, const u8* bytes, u64 size, u32 width, u64 count,
                      const T* dictionary, u64 entries, T* out) {
  u64 bad = count;
  tile::for_each(bytes, size, width, count, [&](u64 at, const u32* indices, u32 n) {
    u32 largest = 0;
    for (u32 i = 0; i < n; ++i) largest = indices[i] > largest ? indices[i] : largest;
    if (largest < entries) {
      for (u32 i = 0; i < n; ++i) out[at + i] = dictionary[indices[i]];
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
    u64 bits = get_bits(validity, at, n);
    if (bits == low_bits(n)) {
      std::memcpy(static_cast<void*>(out + at), dense, n * sizeof(T));
      dense += n;
      continue;
    }
    std::memset(static_cast<void*>(out + at), 0, n * sizeof(T));
    for (; bits != 0; bits &= bits - 1) out[at + __builtin_ctzll(bits)] = *dense++;
  }
}

inline void put_bits(const CpuThread&, const u8* bitmap, u64 start, u64 count, u8* out, u64 at) {
  if ((start & 7) == 0 && (at & 7) == 0) {
    const u64 bytes = count / 8;
    if (bytes != 0) std::memcpy(out + at / 8, bitmap + start / 8, bytes);
    start += bytes * 8, at += bytes * 8, count -= bytes * 8;
  }
  constexpr u64 STEP = 56;  // with up to 7 bits before it, within one word
  for (; count >= 64; count -= STEP, start += STEP, at += STEP) {
    const u64 bits = load<u64>(bitmap + start / 8) >> (start & 7) & low_bits(STEP);
    store(out + at / 8, load<u64>(out + at / 8) | bits << (at & 7));
  }
  while (count != 0) {
    const u64 room = 8 - (at & 7);
    const u64 n = count < room ? count : room;
    const u64 bits = get_bits(bitmap, start, static_cast<u32>(n));
    out[at / 8] = static_cast<u8>(out[at / 8] | bits << (at & 7));
    start += n, at += n, count -= n;
  }
}

inline void set_bits(const CpuThread&, u64 count, u8* out, u64 at) {
  const auto some = [out](u64 from, u64 n) {
    out[from / 8] = static_cast<u8>(out[from / 8] | low_bits(static_cast<u32>(n)) << (from & 7));
  };
  const u64 head = (8 - (at & 7)) & 7;
  if (count <= head) {
    if (count != 0) some(at, count);
    return;
  }
  if (head != 0) some(at, head);
  at += head, count -= head;
  std::memset(out + at / 8, 0xff, count / 8);
  if ((count & 7) != 0) some(at + (count & ~7ull), count & 7);
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
