// What a decoding function found: OK, or what is wrong and where, in one word. A GPU hands one such
// word back per page; the CPU turns it into an error with a place (cpu/status.hpp has the texts).
#pragma once
#include "config.cuh"

namespace pq {

enum class Status : u8 {
  OK = 0,
  TRUNCATED = 1,         // the bytes end before the values do
  VARINT = 2,            // a run header of more than 32 bits
  BIT_WIDTH = 3,         // wider than the format allows
  LEVEL = 4,             // a level above the column's maximum
  INDEX = 5,             // an index beyond the dictionary
  NO_DICTIONARY = 6,     // dictionary indices in a chunk without a dictionary page
  VALUE_LENGTH = 7,      // a byte array longer than its page
  UTF8 = 8,              // text that is not UTF-8
  RANGE = 9,             // a value that its type cannot hold
  BLOCK = 10,            // compressed bytes that do not follow their format
  BLOCK_TOO_LONG = 11,   // decompressing gives more bytes than the page header says
  BLOCK_TOO_SHORT = 12,  // ... fewer
  DELTA_HEADER = 14,     // block sizes or numbers that the format does not allow
  DELTA_WIDTH = 15,      // a mini-block wider than 64 bits
  PREFIX = 16,           // a prefix longer than the value before
  FIXED_LENGTH = 17,     // a value of another length than the column's
  ALP_HEADER = 18,       // a mode, a size or an offset that the format does not allow
  ALP_VECTOR = 19,       // parameters or a position that the format does not allow
};

// The status in the low 8 bits; above them where: the ordinal of a value, or a byte position.
using StatusWord = u64;
constexpr StatusWord STATUS_OK = 0;

PQ_HD StatusWord status_word(Status status, u64 where) {
  return (where << 8) | static_cast<u64>(status);
}
PQ_HD Status status_of(StatusWord word) { return static_cast<Status>(word & 0xff); }
PQ_HD u64 where_of(StatusWord word) { return word >> 8; }

}  // namespace pq
