// What a ThriftStatus means, in words.
#pragma once
#include "thrift.cuh"

namespace pq {

inline const char* thrift_text(ThriftStatus status) {
  switch (status) {
    case ThriftStatus::OK: return "no error";
    case ThriftStatus::TRUNCATED: return "the bytes end inside it";
    case ThriftStatus::VARINT_TOO_LONG: return "a varint of more than 10 bytes or 64 bits";
    case ThriftStatus::OUT_OF_RANGE: return "the number does not fit its type";
    case ThriftStatus::FIELD_ID: return "a field id outside of 16 bits";
    case ThriftStatus::UNKNOWN_TYPE: return "a type that thrift's compact protocol does not have";
    case ThriftStatus::WRONG_TYPE: return "another thrift type than the specification's";
    case ThriftStatus::TOO_LONG: return "longer than the bytes left";
    case ThriftStatus::TOO_DEEP: return "nested too deep";
  }
  return "unknown";
}

}  // namespace pq
