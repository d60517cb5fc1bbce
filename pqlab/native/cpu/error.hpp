// The exception of native code; bindings.cpp turns it into the error of pqlab/errors.py that its
// kind names.
#pragma once
#include <exception>
#include <string>

#include "config.cuh"

namespace pq {

enum class ErrorKind { Corrupt, Unsupported, Encrypted, Limit, Source };

struct Error : std::exception {
  ErrorKind kind;
  std::string message;
  std::string field;   // thrift field, e.g. "ColumnMetaData.num_values"; empty: none
  std::string column;  // the leaf's dotted path, where native code knows it; empty: unknown
  std::string hint;    // what to do; empty: nothing to say
  i64 offset = -1;     // in the file, or in the buffer the caller passed; -1: unknown
  i64 row_group = -1;  // -1: unknown
  i64 leaf = -1;       // -1: unknown
  i64 page = -2;       // -1 is the dictionary page; -2: unknown

  Error(ErrorKind kind_, std::string message_, std::string field_ = "", i64 offset_ = -1)
      : kind(kind_), message(std::move(message_)), field(std::move(field_)), offset(offset_) {}

  const char* what() const noexcept override { return message.c_str(); }
};

}  // namespace pq
