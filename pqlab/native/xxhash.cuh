// XXH64: the hash of Parquet's bloom filters (BloomFilterHeader.hash = XXHASH), and the checksum of
// pqlab's own cache files.
#pragma once
#include "config.cuh"

namespace pq {

PQ_CONSTANT u64 XXH_P1 = 0x9E3779B185EBCA87ull;
PQ_CONSTANT u64 XXH_P2 = 0xC2B2AE3D27D4EB4Full;
PQ_CONSTANT u64 XXH_P3 = 0x165667B19E3779F9ull;
PQ_CONSTANT u64 XXH_P4 = 0x85EBCA77C2B2AE63ull;
PQ_CONSTANT u64 XXH_P5 = 0x27D4EB2F165667C5ull;

namespace xxh {

// Byte by byte, so that no load is misaligned and byte order does not matter; compilers for hosts
// that allow it make one load of it.
PQ_HD u64 load32(const u8* p) {
  return u64(p[0]) | u64(p[1]) << 8 | u64(p[2]) << 16 | u64(p[3]) << 24;
}
PQ_HD u64 load64(const u8* p) {
  return u64(p[0]) | u64(p[1]) << 8 | u64(p[2]) << 16 | u64(p[3]) << 24 | u64(p[4]) << 32 |
         u64(p[5]) << 40 | u64(p[6]) << 48 | u64(p[7]) << 56;
}
PQ_HD u64 rotate(u64 x, int bits) { return x << bits | x >> (64 - bits); }
PQ_HD u64 round(u64 lane, u64 input) { return rotate(lane + input * XXH_P2, 31) * XXH_P1; }
PQ_HD u64 merge(u64 hash, u64 lane) { return (hash ^ round(0, lane)) * XXH_P1 + XXH_P4; }

}  // namespace xxh

PQ_HD u64 xxhash64(const u8* data, u64 length, u64 seed = 0) {
  const u8* p = data;
  u64 left = length;
  u64 hash;
  if (length >= 32) {
    u64 a = seed + XXH_P1 + XXH_P2, b = seed + XXH_P2, c = seed, d = seed - XXH_P1;
    for (; left >= 32; left -= 32, p += 32) {
      a = xxh::round(a, xxh::load64(p));
      b = xxh::round(b, xxh::load64(p + 8));
      c = xxh::round(c, xxh::load64(p + 16));
      d = xxh::round(d, xxh::load64(p + 24));
    }
    hash = xxh::rotate(a, 1) + xxh::rotate(b, 7) + xxh::rotate(c, 12) + xxh::rotate(d, 18);
    hash = xxh::merge(xxh::merge(xxh::merge(xxh::merge(hash, a), b), c), d);
  } else {
    hash = seed + XXH_P5;
  }
  hash += length;
  for (; left >= 8; left -= 8, p += 8) {
    hash = xxh::rotate(hash ^ xxh::round(0, xxh::load64(p)), 27) * XXH_P1 + XXH_P4;
  }
  if (left >= 4) {
    hash = xxh::rotate(hash ^ xxh::load32(p) * XXH_P1, 23) * XXH_P2 + XXH_P3;
    left -= 4, p += 4;
  }
  for (; left > 0; --left, ++p) hash = xxh::rotate(hash ^ *p * XXH_P5, 11) * XXH_P1;
  hash = (hash ^ hash >> 33) * XXH_P2;
  hash = (hash ^ hash >> 29) * XXH_P3;
  return hash ^ hash >> 32;
}

}  // namespace pq
