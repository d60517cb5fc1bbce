// One stored value as text for people: what the frames show in min_text and max_text.
#pragma once
#include "bits.cuh"

namespace pq {

// How a leaf's values read; pqlab/footer/values.py chooses it by the table of types.
enum class TextKind : u8 {
  BYTES = 0,  // in hexadecimal digits
  STRING = 1,
  BOOLEAN = 2,
  SIGNED = 3,
  UNSIGNED = 4,
  FLOAT = 5,
  DATE = 6,
  TIME = 7,
  TIMESTAMP = 8,
  INT96 = 9,
  DECIMAL = 10,
  UUID = 11,
  INTERVAL = 12,
};

// The same 8 bytes are a numpy record in Python.
struct TextFormat {
  TextKind kind;
  u8 bits;    // of an integer's annotation, or a decimal's integer; 0: a decimal in bytes
  u8 digits;  // of a decimal's scale, or of a second's fraction: 3, 6 or 9
  u8 is_utc;
  i32 width;  // bytes of a stored value; 0: any
};
static_assert(sizeof(TextFormat) == 8, "pqlab/footer/values.py has the same layout");

// What the bytes of a value are; bounds.py draws its conclusions.
enum class ValueCheck : u8 { NONE = 0, VALUE = 1, NO_VALUE = 2, NOT_A_NUMBER = 3 };

constexpr i32 MAX_TEXT_CHARACTERS = 64;
constexpr i32 MAX_HEX_BYTES = 24;
constexpr i32 MAX_TEXT_BYTES = 4 * MAX_TEXT_CHARACTERS + 3;  // the ellipsis takes three

// Writes the text of a value that is no STRING, at most MAX_TEXT_BYTES; returns how many bytes.
// What is no value of its type reads as the number that is stored, with its unit, or as BYTES.
i32 write_value_text(const TextFormat& format, const u8* value, i32 length, char* text);

// The bytes in hexadecimal digits after 0x, an ellipsis behind MAX_HEX_BYTES of them.
i32 write_hexadecimal(const u8* value, i32 length, char* text);

ValueCheck check_value(const TextFormat& format, const u8* value, i32 length);

}  // namespace pq
