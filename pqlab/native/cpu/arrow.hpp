// The Arrow C data interface: its structs, as https://arrow.apache.org lays them out.
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

// The C device interface: an array that lies in a device's memory. `sync_event`: a CUDA event to
// wait for, or null.
struct ArrowDeviceArray {
  ArrowArray array;
  i64 device_id;
  i32 device_type;
  void* sync_event;
  i64 reserved[3];
};

}  // namespace pq
