#include "value_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "convert.cuh"

namespace pq {
namespace {

constexpr i64 SECONDS_PER_DAY = 86'400;
constexpr i64 FIRST_DAY = -719'162;  // 0001-01-01, in days since 1970
constexpr i64 LAST_DAY = 2'932'896;  // 9999-12-31
constexpr i64 JULIAN_DAY_OF_1970 = 2'440'588;

// Appends to a text whose length the caller bounds.
struct Writer {
  char* begin;
  char* at;

  explicit Writer(char* text) : begin(text), at(text) {}
  i32 size() const { return static_cast<i32>(at - begin); }

  void put(char character) { *at++ = character; }
  void put(const char* characters) {
    while (*characters != 0) put(*characters++);
  }
  template <class Integer>
  void put_number(Integer number) {
    at = std::to_chars(at, at + 24, number).ptr;
  }
  // Exactly so many digits, with zeros in front.
  void put_digits(u64 number, int digits) {
    for (int i = digits - 1; i >= 0; --i, number /= 10)
      at[i] = static_cast<char>('0' + number % 10);
    at += digits;
  }
};

constexpr i64 units_per_second(u8 digits) {
  return digits == 3 ? 1'000 : digits == 6 ? 1'000'000 : 1'000'000'000;
}

const char* unit_name(u8 digits) { return digits == 3 ? " ms" : digits == 6 ? " us" : " ns"; }

// The Gregorian calendar, in eras of 400 years that begin on a 1st of March.
void put_date(Writer& out, i64 day) {
  const i64 shifted = day + 719'468;  // days since 0000-03-01, not negative from FIRST_DAY on
  const i64 era = shifted / 146'097;
  const i64 of_era = shifted % 146'097;
  const i64 year_of_era = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const i64 of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const i64 month_from_march = (5 * of_year + 2) / 153;
  const i64 day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
  const i64 month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  out.put_digits(static_cast<u64>(era * 400 + year_of_era + (month <= 2 ? 1 : 0)), 4);
  out.put('-');
  out.put_digits(static_cast<u64>(month), 2);
  out.put('-');
  out.put_digits(static_cast<u64>(day_of_month), 2);
}

// A fraction of a second is shown by as many groups of three digits as it needs.
void put_time(Writer& out, i64 of_day, u8 digits) {
  const i64 second = of_day / units_per_second(digits);
  i64 fraction = of_day % units_per_second(digits);
  out.put_digits(static_cast<u64>(second / 3600), 2);
  out.put(':');
  out.put_digits(static_cast<u64>(second / 60 % 60), 2);
  out.put(':');
  out.put_digits(static_cast<u64>(second % 60), 2);
  if (fraction == 0) return;
  int shown = digits;
  for (; fraction % 1'000 == 0; shown -= 3) fraction /= 1'000;
  out.put('.');
  out.put_digits(static_cast<u64>(fraction), shown);
}

void put_timestamp(Writer& out, i64 day, i64 of_day, u8 digits, bool is_utc) {
  put_date(out, day);
  out.put(' ');
  put_time(out, of_day, digits);
  if (is_utc) out.put('Z');
}

template <class Float>
void put_shortest(Writer& out, Float number) {
#ifdef __cpp_lib_to_chars
  out.at = std::to_chars(out.at, out.at + 32, number).ptr;
#else
  for (int digits = sizeof(Float) == 4 ? 6 : 15; digits <= 17; ++digits) {
    const int size = std::snprintf(out.at, 32, "%.*g", digits, static_cast<double>(number));
    if (digits == 17 || static_cast<Float>(std::strtod(out.at, nullptr)) == number) {
      out.at += size;
      return;
    }
  }
#endif
}

template <class Float>
void put_float(Writer& out, Float number) {
  if (std::isnan(number)) return out.put("NaN");
  if (std::isinf(number)) return out.put(number < 0 ? "-inf" : "inf");
  const char* digits = out.at;
  put_shortest(out, number);
  for (; digits < out.at; ++digits) {
    if (*digits == '.' || *digits == 'e') return;
  }
  out.put(".0");
}

float half_to_float(u16 half) {
  const int exponent = half >> 10 & 31;
  const float fraction = static_cast<float>(half & 1023);
  float number =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) number = fraction == 0 ? HUGE_VALF : std::nanf("");
  return (half & 0x8000) != 0 ? -number : number;
}

void put_decimal(Writer& out, const Int128& value, int scale) {
  const bool is_negative = (value.high >> 63) != 0;
  unsigned __int128 number = static_cast<unsigned __int128>(value.high) << 64 | value.low;
  if (is_negative) number = -number;
  char digits[48];
  int count = 0;
  for (; number != 0 || count <= scale; number /= 10) {
    digits[count++] = static_cast<char>('0' + static_cast<int>(number % 10));
  }
  if (is_negative) out.put('-');
  while (count > 0) {
    out.put(digits[--count]);
    if (count == scale && scale > 0) out.put('.');
  }
}

i64 load_integer(const u8* value, i32 width) {
  return width == 4 ? load<i32>(value) : load<i64>(value);
}

// `bits` is 0 for decimals in byte arrays.
bool read_decimal(const TextFormat& format, const u8* value, i32 length, Int128& out) {
  // A stored value of no bytes is read as 0; a bound of none is no bound.
  if (format.bits == 0) {
    return length > 0 && decimal_from_bytes(value, static_cast<u32>(length), out);
  }
  const i64 number = load_integer(value, format.width);
  out = {static_cast<u64>(number), number < 0 ? ~0ull : 0};
  return true;
}

i64 floor_divide(i64 number, i64 by) { return number / by - (number % by < 0 ? 1 : 0); }

void put_integer(Writer& out, const TextFormat& format, const u8* value) {
  const i64 number = load_integer(value, format.width);
  if (format.kind == TextKind::UNSIGNED && format.bits == 8 * format.width) {
    return out.put_number(format.width == 4 ? static_cast<u64>(static_cast<u32>(number))
                                            : static_cast<u64>(number));
  }
  out.put_number(number);
}

void put_calendar(Writer& out, const TextFormat& format, const u8* value) {
  const i64 number = load_integer(value, format.width);
  if (format.kind == TextKind::DATE) {
    if (number >= FIRST_DAY && number <= LAST_DAY) return put_date(out, number);
    out.put_number(number);
    return out.put(" days");
  }
  const i64 in_day = SECONDS_PER_DAY * units_per_second(format.digits);
  const i64 day = floor_divide(number, in_day);
  // Not number - day * in_day: the first day of an i64 begins before the least one.
  const i64 of_day = number % in_day + (number % in_day < 0 ? in_day : 0);
  if (format.kind == TextKind::TIME && day == 0) return put_time(out, of_day, format.digits);
  if (format.kind == TextKind::TIMESTAMP && day >= FIRST_DAY && day <= LAST_DAY) {
    return put_timestamp(out, day, of_day, format.digits, format.is_utc != 0);
  }
  out.put_number(number);
  out.put(unit_name(format.digits));
}

// False where the bytes must be shown instead.
bool put_value(Writer& out, const TextFormat& format, const u8* value, i32 length) {
  switch (format.kind) {
    case TextKind::BYTES:
    case TextKind::STRING: return false;
    case TextKind::BOOLEAN: out.put(value[0] != 0 ? "true" : "false"); return true;
    case TextKind::SIGNED:
    case TextKind::UNSIGNED: put_integer(out, format, value); return true;
    case TextKind::FLOAT:
      if (format.width == 2) put_float(out, half_to_float(load<u16>(value)));
      if (format.width == 4) put_float(out, load<float>(value));
      if (format.width == 8) put_float(out, load<double>(value));
      return true;
    case TextKind::DATE:
    case TextKind::TIME:
    case TextKind::TIMESTAMP: put_calendar(out, format, value); return true;
    case TextKind::INT96: {
      const i64 of_day = load<i64>(value);
      const i64 day = static_cast<i64>(load<u32>(value + 8)) - JULIAN_DAY_OF_1970;
      if (of_day < 0 || of_day >= SECONDS_PER_DAY * units_per_second(9)) return false;
      if (day < FIRST_DAY || day > LAST_DAY) return false;
      put_timestamp(out, day, of_day, 9, false);
      return true;
    }
    case TextKind::DECIMAL: {
      Int128 number{};
      if (!read_decimal(format, value, length, number)) return false;
      put_decimal(out, number, format.digits);
      return true;
    }
    case TextKind::UUID:
      for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out.put('-');
        out.put("0123456789abcdef"[value[i] >> 4]);
        out.put("0123456789abcdef"[value[i] & 15]);
      }
      return true;
    case TextKind::INTERVAL:
      out.put_number(load<u32>(value));
      out.put(" months ");
      out.put_number(load<u32>(value + 4));
      out.put(" days ");
      out.put_number(load<u32>(value + 8));
      out.put(" ms");
      return true;
  }
  return false;
}

}  // namespace

i32 write_hexadecimal(const u8* value, i32 length, char* text) {
  Writer out(text);
  out.put("0x");
  for (i32 i = 0; i < length && i < MAX_HEX_BYTES; ++i) {
    out.put("0123456789abcdef"[value[i] >> 4]);
    out.put("0123456789abcdef"[value[i] & 15]);
  }
  if (length > MAX_HEX_BYTES) out.put("\xe2\x80\xa6");
  return out.size();
}

i32 write_value_text(const TextFormat& format, const u8* value, i32 length, char* text) {
  Writer out(text);
  const bool is_value = check_value(format, value, length) != ValueCheck::NO_VALUE;
  if (is_value && put_value(out, format, value, length)) return out.size();
  return write_hexadecimal(value, length, text);
}

ValueCheck check_value(const TextFormat& format, const u8* value, i32 length) {
  if (format.width != 0 && length != format.width) return ValueCheck::NO_VALUE;
  Int128 number{};
  switch (format.kind) {
    case TextKind::BOOLEAN: return value[0] <= 1 ? ValueCheck::VALUE : ValueCheck::NO_VALUE;
    case TextKind::DECIMAL:
      return read_decimal(format, value, length, number) ? ValueCheck::VALUE : ValueCheck::NO_VALUE;
    case TextKind::FLOAT: {
      const bool is_nan = format.width == 2   ? std::isnan(half_to_float(load<u16>(value)))
                          : format.width == 4 ? std::isnan(load<float>(value))
                                              : std::isnan(load<double>(value));
      return is_nan ? ValueCheck::NOT_A_NUMBER : ValueCheck::VALUE;
    }
    default: return ValueCheck::VALUE;
  }
}

}  // namespace pq
