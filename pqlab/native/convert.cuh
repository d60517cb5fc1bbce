// Stored values to the values of their logical type, where the two differ in width or meaning. Each
// says whether the value fits.
#pragma once
#include "bits.cuh"

namespace pq {

// INT32 to the 8 or 16 bits of its annotation.
template <class T>
struct NarrowInteger {
  using Out = T;
  static constexpr u32 width = 4;

  PQ_HD bool operator()(const u8* value, T& out) const {
    const i32 wide = load<i32>(value);
    out = static_cast<T>(wide);
    return static_cast<i32>(out) == wide;
  }
};

// TIME: within a day of that many units. (polars would silently make others null.)
template <class T, i64 UNITS_PER_DAY>
struct TimeOfDay {
  using Out = T;
  static constexpr u32 width = sizeof(T);

  PQ_HD bool operator()(const u8* value, T& out) const {
    out = load<T>(value);
    return out >= 0 && out < UNITS_PER_DAY;
  }
};

// INT96: nanoseconds within the day, then the Julian day; to UNITS_PER_DAY since 1970.
template <i64 UNITS_PER_DAY>
struct Int96Timestamp {
  using Out = i64;
  static constexpr u32 width = 12;

  PQ_HD bool operator()(const u8* value, i64& out) const {
    constexpr i64 JULIAN_DAY_OF_1970 = 2440588;
    constexpr i64 NS_PER_UNIT = 86'400'000'000'000 / UNITS_PER_DAY;
    constexpr i64 MAX = 0x7fffffffffffffff, MIN = -MAX - 1;
    constexpr i64 MAX_DAYS = MAX / UNITS_PER_DAY;
    const i64 ns = load<i64>(value);
    i64 units = ns / NS_PER_UNIT - (ns % NS_PER_UNIT < 0 ? 1 : 0);
    i64 days = static_cast<i64>(load<u32>(value + 8)) - JULIAN_DAY_OF_1970;
    out = 0;
    if (days < 0) {  // the first day of the range begins before it
      if (units < MIN + UNITS_PER_DAY) return false;
      units -= UNITS_PER_DAY;
      days += 1;
    }
    if (days > MAX_DAYS || days < -MAX_DAYS) return false;
    const i64 whole = days * UNITS_PER_DAY;
    if (units > 0 ? whole > MAX - units : whole < MIN - units) return false;
    out = whole + units;
    return true;
  }
};
using Int96Nanoseconds = Int96Timestamp<86'400'000'000'000>;
using Int96Microseconds = Int96Timestamp<86'400'000'000>;

// A 128-bit integer in two's complement, little endian.
struct alignas(8) Int128 {
  u64 low;
  u64 high;
};

template <class T>
struct DecimalInteger {
  using Out = Int128;
  static constexpr u32 width = sizeof(T);

  PQ_HD bool operator()(const u8* value, Int128& out) const {
    const i64 wide = static_cast<i64>(load<T>(value));
    out = {static_cast<u64>(wide), wide < 0 ? ~0ull : 0};
    return true;
  }
};

// Big-endian two's complement of 1 to 8 bytes.
PQ_HD i64 signed_from_big_endian(const u8* value, u32 length) {
  u64 word = 0;
  if (length == 8) {
    word = load_big_endian_u64(value);
  } else if (length >= 4) {  // the two halves may overlap
    word = static_cast<u64>(load_big_endian_u32(value)) << (8 * (length - 4));
    word |= load_big_endian_u32(value + length - 4);
  } else {
    for (u32 i = 0; i < length; ++i) word = word << 8 | value[i];
  }
  const u32 unused = 64 - 8 * length;
  return static_cast<i64>(word << unused) >> unused;
}

// The same of any length: no bytes are 0; above 16, the rest must be the sign.
PQ_HD bool decimal_from_bytes(const u8* value, u32 length, Int128& out) {
  out = {0, 0};
  if (length == 0) return true;
  bool fits = true;
  if (length > 16) {
    const u32 beyond = length - 16;
    const u8 sign = (value[beyond] & 0x80) != 0 ? 0xff : 0;
    for (u32 i = 0; i < beyond; ++i) fits &= value[i] == sign;
    value += beyond;
    length = 16;
  }
  if (length > 8) {
    out.low = load_big_endian_u64(value + length - 8);
    out.high = static_cast<u64>(signed_from_big_endian(value, length - 8));
  } else {
    const i64 word = signed_from_big_endian(value, length);
    out.low = static_cast<u64>(word);
    out.high = static_cast<u64>(word >> 63);
  }
  return fits;
}

// Use: byte arrays to decimals.
struct DecimalsOut {
  Int128* out;

  PQ_HD bool operator()(u64 i, const u8* value, u32 length, u64) const {
    return decimal_from_bytes(value, length, out[i]);
  }
};

struct DecimalFixed {
  using Out = Int128;
  u32 width;

  PQ_HD bool operator()(const u8* value, Int128& out) const {
    return decimal_from_bytes(value, width, out);
  }
};

}  // namespace pq
