// Status words as exceptions.
#pragma once
#include "error.hpp"
#include "status.cuh"

namespace pq {

inline const char* describe(Status status) {
  switch (status) {
    case Status::OK: return "no error";
    case Status::TRUNCATED: return "the page ends before its values do";
    case Status::VARINT: return "a run header is longer than 32 bits";
    case Status::BIT_WIDTH: return "a bit width is above 32";
    case Status::LEVEL: return "a level is above the column's maximum";
    case Status::INDEX: return "a dictionary index is beyond the dictionary";
    case Status::NO_DICTIONARY:
      return "the page has dictionary indices, the chunk no dictionary page";
    case Status::VALUE_LENGTH: return "a byte array is longer than its page";
    case Status::UTF8: return "text is not valid UTF-8";
    case Status::RANGE: return "a value does not fit the column's type";
    case Status::BLOCK: return "the compressed bytes do not follow their format";
    case Status::BLOCK_TOO_LONG: return "decompresses to more bytes than the page header says";
    case Status::BLOCK_TOO_SHORT: return "decompresses to fewer bytes than the page header says";
    case Status::DELTA_HEADER:
      return "a delta header has a number or a block size that the format does not allow";
    case Status::DELTA_WIDTH: return "a mini-block of deltas is wider than 64 bits";
    case Status::PREFIX: return "a prefix is longer than the value before it";
    case Status::FIXED_LENGTH: return "a value does not have the length that the schema says";
    case Status::ALP_HEADER:
      return "an ALP header has a mode, a size or an offset that the format does not allow";
    case Status::ALP_VECTOR:
      return "an ALP vector has an exponent, a width or a position that the format does not allow";
  }
  return "unknown status";
}

// `what`: what the place counts, as "value" or "compressed byte".
inline Error error_of(StatusWord word, const char* what) {
  return Error(ErrorKind::Corrupt, std::string(describe(status_of(word))) + ", at " + what + " " +
                                       std::to_string(where_of(word)));
}

}  // namespace pq
