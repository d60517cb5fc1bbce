// What the values of a column are: one table of kinds. What is done with them: loops.hpp.
#pragma once
#include <string>

#include "plain.cuh"
#include "status.cuh"

namespace pq {

// What PLAIN values of a column become. Python names them (pqlab/cpu/kinds.py).
enum class Kind : u8 {
  BITS,      // BOOLEAN: a bitmap
  COPY,      // INT32 and INT64, as they are
  FLOATING,  // FLOAT and DOUBLE, as they are
  FIXED,     // FIXED_LEN_BYTE_ARRAY, as it is
  INT8,      // from INT32, as all to UINT16
  UINT8,
  INT16,
  UINT16,
  TIME_MS,        // TIME in milliseconds (INT32), checked to be within a day
  TIME_US,        // in microseconds (INT64)
  TIME_NS,        // in nanoseconds
  INT96_NS,       // to nanoseconds since 1970
  INT96_US,       // to microseconds
  DECIMAL_INT32,  // to 128 bits, as all to DECIMAL_BYTES
  DECIMAL_INT64,
  DECIMAL_FIXED,
  DECIMAL_BYTES,
  BYTES,        // BYTE_ARRAY to views
  TEXT,         // the same, checked to be UTF-8
  FIXED_BYTES,  // FIXED_LEN_BYTE_ARRAY to views
  CODES,        // BYTE_ARRAY of UTF-8 to codes of its distinct values (words.hpp)
  NOTHING,      // a column that is always null
};

struct ValueType {
  Kind kind;
  u32 width;  // bytes of a PLAIN value; 0 where it varies

  PQ_HD bool views() const {
    return kind == Kind::BYTES || kind == Kind::TEXT || kind == Kind::FIXED_BYTES;
  }
  // What its byte arrays are before they are looked up; all else is what it is.
  PQ_HD ValueType decoded() const { return kind == Kind::CODES ? ValueType{Kind::TEXT, 0} : *this; }
  // Whether bytes of the pages are kept beside the values.
  PQ_HD bool keeps_bytes() const { return views() || kind == Kind::CODES; }
  // Whether PLAIN values are what the output holds.
  PQ_HD bool copies() const {
    return kind == Kind::COPY || kind == Kind::FLOATING || kind == Kind::FIXED;
  }
  // Bytes per value of the output; 0: BITS and NOTHING.
  u32 stride() const;
};

// Whether the values are INT32 or INT64, FIXED_LEN_BYTE_ARRAY, or BYTE_ARRAY.
bool is_integer(Kind kind);
bool is_fixed(Kind kind);
bool is_byte_array(Kind kind);

// Most PLAIN values that so many bytes can hold: a bound before memory is taken for them.
u64 max_plain_values(ValueType type, u64 size);

// Kinds by name; throws Error (Unsupported) for others, and for values of a size that no output
// has.
Kind kind_of(const std::string& name);
ValueType value_type(const std::string& name, u32 width);

// Bytes of a dictionary's entry.
u32 entry_bytes(ValueType type);

}  // namespace pq
