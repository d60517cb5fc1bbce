// CRC-32 as gzip and Parquet pages use it, 8 bytes a step.
#pragma once
#include <array>

#include "bits.cuh"

namespace pq {

namespace crc {

using Tables = std::array<std::array<u32, 256>, 8>;

constexpr Tables make_tables() {
  constexpr u32 POLYNOMIAL = 0xedb88320;  // reflected
  Tables tables{};
  for (u32 byte = 0; byte < 256; ++byte) {
    u32 value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? POLYNOMIAL : 0);
    tables[0][byte] = value;
  }
  for (u32 byte = 0; byte < 256; ++byte) {
    for (u32 k = 1; k < 8; ++k) {
      const u32 before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
inline constexpr Tables TABLES = make_tables();

}  // namespace crc

inline u32 crc32(const u8* bytes, u64 size) {
  const crc::Tables& t = crc::TABLES;
  u32 value = ~0u;
  for (; size >= 8; bytes += 8, size -= 8) {
    const u64 word = load<u64>(bytes) ^ value;
    value = t[7][word & 0xff] ^ t[6][word >> 8 & 0xff] ^ t[5][word >> 16 & 0xff] ^
            t[4][word >> 24 & 0xff] ^ t[3][word >> 32 & 0xff] ^ t[2][word >> 40 & 0xff] ^
            t[1][word >> 48 & 0xff] ^ t[0][word >> 56];
  }
  for (; size != 0; ++bytes, --size) value = value >> 8 ^ t[0][(value ^ *bytes) & 0xff];
  return ~value;
}

}  // namespace pq
