// The leaf primitives: the only places where values are touched one by one. These are the portable
// forms, whose members stride over the values; a Group may have faster overloads of its own
// (cpu/leaf.hpp for a CPU thread), which must give the same bytes.
#pragma once
#include "bits.cuh"
#include "group.cuh"
#include "status.cuh"

namespace pq {

// Unpack a run: `count` values of `width` bits from bytes[0, size).
template <class Group, class T>
PQ_HD void unpack_run(const Group& group, const u8* bytes, u64 size, u32 width, u64 count, T* out) {
  for (u64 i = group.rank(); i < count; i += group.size()) {
    out[i] = static_cast<T>(unpack_one(bytes, size, width, i));
  }
}

// Unpack a run and map each value.
template <class Group, class Map, class T>
PQ_HD void map_run(const Group& group, const u8* bytes, u64 size, u32 width, u64 count,
                   const Map& map, T* out) {
  for (u64 i = group.rank(); i < count; i += group.size()) {
    out[i] = map(unpack_one(bytes, size, width, i));
  }
}

// Unpack differences and sum them up: each value is the one before it plus `base` plus what is
// packed, the first one's before it `last`. Wraps around. Gives the last value.
template <class Group, class T>
PQ_HD T sum_run(const Group& group, const u8* bytes, u64 size, u32 width, u64 count, T base, T last,
                T* out) {
  for (u64 first = 0; first < count; first += group.size()) {
    const u64 i = first + group.rank();
    const T packed = static_cast<T>(unpack_one(bytes, size, width, i));
    const T difference = i < count ? static_cast<T>(base + packed) : T{0};
    const T ahead = group.exclusive_sum(difference);
    if (i < count) out[i] = static_cast<T>(last + ahead + difference);
    last = static_cast<T>(last + group.sum(difference));
  }
  return last;
}

// Fill: `count` times the same value.
template <class Group, class T>
PQ_HD void fill_run(const Group& group, T value, u64 count, T* out) {
  for (u64 i = group.rank(); i < count; i += group.size()) out[i] = value;
}

// Gather: unpack indices and take those entries. Gives the ordinal of the first index that is not
// below `entries`, else `count`.
template <class Group, class T>
PQ_HD u64 gather_run(const Group& group, const u8* bytes, u64 size, u32 width, u64 count,
                     const T* dictionary, u64 entries, T* out) {
  u64 bad = count;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    const u64 index = unpack_one(bytes, size, width, i);
    if (index < entries) {
      out[i] = dictionary[index];
    } else if (i < bad) {
      bad = i;
    }
  }
  return group.least(bad);
}

// Scatter by validity: the next of the dense values where the bit is set, zero where it is not.
template <class Group, class T>
PQ_HD void scatter_valid(const Group& group, const u8* validity, u64 count, const T* dense,
                         T* out) {
  const u32 size = group.size();
  u64 before = 0;
  for (u64 first = 0; first < count; first += size) {
    const u64 i = first + group.rank();
    const u32 bit = i < count && get_bit(validity, i) ? 1 : 0;
    const u32 ahead = group.exclusive_sum(bit);
    if (i < count) out[i] = bit != 0 ? dense[before + ahead] : T{};
    before += group.sum(bit);
  }
}

// The bits of byte `byte` of a bitmap that lie in [at, at + count), as a half-open range of bits.
struct BitSpan {
  u64 start;
  u32 count;

  PQ_HD BitSpan(u64 byte, u64 at, u64 total) {
    const u64 stop = byte * 8 + 8 < at + total ? byte * 8 + 8 : at + total;
    start = byte * 8 > at ? byte * 8 : at;
    count = static_cast<u32>(stop - start);
  }
};

// Put bits [start, start + count) of a bitmap at bit `at` of another, whose bits there are zero.
template <class Group>
PQ_HD void put_bits(const Group& group, const u8* bitmap, u64 start, u64 count, u8* out, u64 at) {
  for (u64 byte = at / 8 + group.rank(); byte * 8 < at + count; byte += group.size()) {
    const BitSpan span(byte, at, count);
    const u64 bits = get_bits(bitmap, start + span.start - at, span.count);
    out[byte] = static_cast<u8>(out[byte] | bits << (span.start & 7));
  }
  group.sync();
}

// Set `count` bits from bit `at`.
template <class Group>
PQ_HD void set_bits(const Group& group, u64 count, u8* out, u64 at) {
  for (u64 byte = at / 8 + group.rank(); byte * 8 < at + count; byte += group.size()) {
    const BitSpan span(byte, at, count);
    out[byte] = static_cast<u8>(out[byte] | low_bits(span.count) << (span.start & 7));
  }
  group.sync();
}

// Unpack levels and set the bits of those that equal `max_level`, from bit `at`, where they are
// zero. Gives the ordinal of the first level above `max_level`, else `count`.
template <class Group>
PQ_HD u64 put_max_levels(const Group& group, const u8* bytes, u64 size, u32 width, u64 count,
                         u32 max_level, u8* out, u64 at) {
  u64 bad = count;
  for (u64 byte = at / 8 + group.rank(); byte * 8 < at + count; byte += group.size()) {
    const BitSpan span(byte, at, count);
    u32 bits = 0;
    for (u32 i = 0; i < span.count; ++i) {
      const u64 level = unpack_one(bytes, size, width, span.start - at + i);
      if (level > max_level && span.start - at + i < bad) bad = span.start - at + i;
      bits |= (level == max_level ? 1u : 0u) << i;
    }
    out[byte] = static_cast<u8>(out[byte] | bits << (span.start & 7));
  }
  group.sync();
  return group.least(bad);
}

// Copy bytes that do not overlap.
template <class Group>
PQ_HD void copy_run(const Group& group, const u8* from, u64 count, u8* out) {
  for (u64 i = group.rank(); i < count; i += group.size()) out[i] = from[i];
}

// Copy `count` bytes from `distance` bytes before `out`: where they overlap the pattern repeats.
// `room`: bytes that may be written from `out` on, at least `count`.
template <class Group>
PQ_HD void copy_match(const Group& group, u64 distance, u64 count, u64 room, u8* out) {
  (void)room;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    out[i] = (out - distance)[distance >= count ? i : i % distance];
  }
  group.sync();
}

// Copy a literal of a compressed block. `readable`: bytes readable at `from`, `room`: writable at
// `out`, both at least `count`.
template <class Group>
PQ_HD void copy_literal(const Group& group, const u8* from, u64 count, u64 readable, u64 room,
                        u8* out) {
  (void)readable, (void)room;
  copy_run(group, from, count, out);
}

}  // namespace pq
