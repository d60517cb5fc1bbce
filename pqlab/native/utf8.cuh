// Whether bytes are UTF-8, as Unicode defines it: shortest forms only, no surrogates, nothing above
// U+10FFFF.
#pragma once
#include "bits.cuh"

namespace pq {

namespace utf8 {

PQ_HD bool continuation(u8 byte) { return (byte & 0xc0) == 0x80; }

// Bytes that the character at `bytes` takes; 0: it is not one.
PQ_HD u64 character(const u8* bytes, u64 size) {
  const u8 first = bytes[0];
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return size >= 2 && continuation(bytes[1]) ? 2 : 0;
  // The second byte's range is narrower where a longer form or a surrogate would begin.
  const u8 low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const u8 high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  const u64 length = first < 0xf0 ? 3 : 4;
  if (first > 0xf4 || size < length || bytes[1] < low || bytes[1] > high) return 0;
  for (u64 i = 2; i < length; ++i) {
    if (!continuation(bytes[i])) return 0;
  }
  return length;
}

}  // namespace utf8

// Position of the first byte that does not belong to a character, else `size`. Bytes up to
// `readable` may be loaded.
PQ_HD u64 utf8_valid_up_to(const u8* bytes, u64 size, u64 readable) {
  constexpr u64 HIGH_BITS = 0x8080808080808080ull;
  u64 at = 0;
  while (at < size) {
    if (at + 32 <= size) {
      const u8* p = bytes + at;
      const u64 all = load<u64>(p) | load<u64>(p + 8) | load<u64>(p + 16) | load<u64>(p + 24);
      if ((all & HIGH_BITS) == 0) {
        at += 32;
        continue;
      }
    }
    if (at + 8 <= readable) {
      const u64 left = size - at;
      const u64 mask = left >= 8 ? HIGH_BITS : HIGH_BITS & low_bits(static_cast<u32>(left) * 8);
      if ((load<u64>(bytes + at) & mask) == 0) {
        at += 8;
        continue;
      }
    }
    const u64 length = utf8::character(bytes + at, size - at);
    if (length == 0) return at;
    at += length;
  }
  return size;
}

// A Group may have a faster form.
template <class Group>
PQ_HD bool all_utf8(const Group&, const u8* bytes, u64 size, u64 readable) {
  return utf8_valid_up_to(bytes, size, readable) == size;
}

}  // namespace pq
