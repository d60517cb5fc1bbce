// Bytes and bits: little-endian loads at any address, packed values, bitmaps.
#pragma once
#include "config.cuh"

namespace pq {

// Copies of constant size, for types that may stand at any address. A device takes no misaligned
// load, so it goes by bytes there.
PQ_HD void copy_small(void* to, const void* from, u32 size) {
#ifdef PQ_DEVICE_CODE
  for (u32 i = 0; i < size; ++i) static_cast<u8*>(to)[i] = static_cast<const u8*>(from)[i];
#else
  __builtin_memcpy(to, from, size);
#endif
}

template <class T>
PQ_HD T load(const void* from) {
  T value;
  copy_small(&value, from, sizeof(T));
  return value;
}

template <class T>
PQ_HD void store(void* to, T value) {
  copy_small(to, &value, sizeof(T));
}

// The first `size` bytes (at most 8) as a number; reads no byte beyond them.
PQ_HD u64 load_partial(const u8* from, u64 size) {
  u64 value = 0;
  for (u64 i = 0; i < size; ++i) value |= static_cast<u64>(from[i]) << (8 * i);
  return value;
}

// 8 bytes from `position`; bytes at and beyond `size` count as zero.
PQ_HD u64 load_bounded(const u8* bytes, u64 size, u64 position) {
  if (position + 8 <= size) return load<u64>(bytes + position);
  return position < size ? load_partial(bytes + position, size - position) : 0;
}

PQ_HD u32 load_big_endian_u32(const u8* from) {
  return static_cast<u32>(from[0]) << 24 | static_cast<u32>(from[1]) << 16 |
         static_cast<u32>(from[2]) << 8 | from[3];
}

PQ_HD u64 load_big_endian_u64(const u8* from) {
  return static_cast<u64>(load_big_endian_u32(from)) << 32 | load_big_endian_u32(from + 4);
}

PQ_HD u32 popcount(u64 word) {
#ifdef __CUDA_ARCH__
  return static_cast<u32>(__popcll(word));
#else
  return static_cast<u32>(__builtin_popcountll(word));
#endif
}

PQ_HD u64 low_bits(u32 count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

// Bits that hold every value from 0 to `max`.
PQ_HD u32 bit_width(u32 max) {
  u32 width = 0;
  while (max != 0) {
    ++width;
    max >>= 1;
  }
  return width;
}

// ceil(count * width / 8), for counts below 2^32 and widths to 64: no overflow.
PQ_HD u64 packed_bytes(u64 count, u32 width) { return (count * width + 7) / 8; }

// Value `index` of values packed from the low bit up in `width` bits each (0 to 64). Bits beyond
// `size` count as zero.
PQ_HD u64 unpack_one(const u8* bytes, u64 size, u32 width, u64 index) {
  const u64 bit = index * width;
  const u32 shift = static_cast<u32>(bit & 7);
  u64 word = load_bounded(bytes, size, bit >> 3) >> shift;
  if (shift + width > 64) {
    const u64 next = (bit >> 3) + 8;
    word |= static_cast<u64>(next < size ? bytes[next] : 0) << (64 - shift);
  }
  return word & low_bits(width);
}

// The same for the deprecated BIT_PACKED encoding, which packs from the high bit down.
PQ_HD u32 unpack_one_high_first(const u8* bytes, u64 size, u32 width, u64 index) {
  u32 value = 0;
  for (u64 bit = index * width; bit < (index + 1) * width; ++bit) {
    const u32 byte = (bit >> 3) < size ? bytes[bit >> 3] : 0;
    value = value << 1 | (byte >> (7 - (bit & 7)) & 1);
  }
  return value;
}

PQ_HD bool get_bit(const u8* bitmap, u64 index) { return bitmap[index >> 3] >> (index & 7) & 1; }

// Up to 64 bits from bit `start`, the first one lowest; reads only the bytes that hold them.
PQ_HD u64 get_bits(const u8* bitmap, u64 start, u32 count) {
  const u8* bytes = bitmap + (start >> 3);
  const u32 shift = static_cast<u32>(start & 7);
  const u64 size = (shift + count + 7) / 8;
  u64 word = load_bounded(bytes, size, 0) >> shift;
  if (size > 8) word |= static_cast<u64>(bytes[8]) << (64 - shift);
  return word & low_bits(count);
}

}  // namespace pq
