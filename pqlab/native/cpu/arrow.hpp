// The Arrow C data interface: its two structs, as https://arrow.apache.org lays them out.
#pragma once
#include "config.cuh"

namespace pq {

constexpr i64 ARROW_FLAG_DICTIONARY_ORDERED = 1;
constexpr i64 ARROW_FLAG_NULLABLE = 2;

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  i64 flags;
  i64 n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  i64 length;
  i64 null_count;
  i64 offset;
  i64 n_buffers;
  i64 n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // namespace pq
