// Decoding a page's values, by the kind of the column: one table of kinds, one function per step.
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
  NOTHING,      // a column that is always null
};

struct ValueType {
  Kind kind;
  u32 width;  // bytes of a PLAIN value; 0 where it varies

  bool views() const {
    return kind == Kind::BYTES || kind == Kind::TEXT || kind == Kind::FIXED_BYTES;
  }
  // Whether PLAIN values are what the output holds.
  bool copies() const {
    return kind == Kind::COPY || kind == Kind::FLOATING || kind == Kind::FIXED;
  }
  // Bytes per value of the output; 0: BITS and NOTHING.
  u32 stride() const;
};

// Whether the values are INT32 or INT64, FIXED_LEN_BYTE_ARRAY, or BYTE_ARRAY.
bool is_integer(Kind kind);
bool is_fixed(Kind kind);
bool is_byte_array(Kind kind);

// BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED or ALP values as PLAIN ones, type.width bytes each.
StatusWord join_streams(ValueType type, const u8* bytes, u64 size, u64 count, u8* out);
StatusWord sum_deltas(ValueType type, const u8* bytes, u64 size, u64 count, u8* out);
StatusWord scale_alp(ValueType type, const u8* bytes, u64 size, u64 count, u8* out);

// Most PLAIN values that so many bytes can hold: a bound before memory is taken for them.
u64 max_plain_values(ValueType type, u64 size);

Kind kind_of(const std::string& name);

// PLAIN values into `out`, stride() bytes each; BITS: into a zeroed bitmap.
StatusWord decode_plain(ValueType type, const u8* bytes, u64 size, u64 count, ViewPlace place,
                        u8* out);

// A dictionary page's values: as decode_plain, but a byte for each of BITS.
StatusWord decode_entries(ValueType type, const u8* bytes, u64 size, u64 count, ViewPlace place,
                          u8* out);
u32 entry_bytes(ValueType type);

// Dictionary indices to entries, entry_bytes() each.
StatusWord decode_indices(ValueType type, const u8* bytes, u64 size, u64 count, const u8* entries,
                          u64 num_entries, u8* out);

// Bytes of 0 or 1 into a zeroed bitmap.
void pack_bits(const u8* values, u64 count, u8* out);

// Booleans in the RLE encoding, whose bytes have their length before them, into a zeroed bitmap.
StatusWord decode_rle_booleans(const u8* bytes, u64 size, u64 count, u8* out);

// Dense values to where the validity bits are set; between them zeros.
void scatter(ValueType type, const u8* validity, u64 count, const u8* dense, u8* out);

// Values back to back, whose lengths are known, as decode_plain would make them.
StatusWord decode_lengths(ValueType type, const u32* lengths, const u8* bytes, u64 size, u64 count,
                          ViewPlace place, u8* out);

// Whether any of the views is longer than what stands in itself.
bool any_view_outside(const u8* views, u64 count);

}  // namespace pq
