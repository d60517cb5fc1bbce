// One stage of one page (or of one request) on the trace's clock; pqlab/trace.py has the same
// layout and the same stage numbers.
#pragma once
#include "config.cuh"

namespace pq {

enum class Stage : u8 {
  FETCH = 0,
  WAIT = 1,
  DECOMPRESS = 2,
  LEVELS = 3,
  DECODE = 4,
  LEVELS_DECODE = 5,
  ASSEMBLE = 6,
  COMPILE = 7,
  H2D = 8,
  KERNEL = 9,
  D2H = 10,
};

struct Event {
  i64 start_ns;  // CLOCK_MONOTONIC, as Python's time.perf_counter_ns() on Linux
  i64 duration_ns;
  i64 bytes_in;
  i64 bytes_out;
  i64 values;      // -1: does not apply
  i32 row_group;   // -1: does not apply
  i32 leaf;        // -1: does not apply
  i32 page;        // -1: the dictionary page; -2: does not apply
  i32 request_id;  // -1: none
  i32 worker;      // native worker or stream; -1: the calling thread
  Stage stage;
  i8 encoding;  // -1: does not apply
  i8 codec;     // -1: does not apply
  u8 reserved;
};

static_assert(sizeof(Event) == 64, "pqlab/trace.py has the same layout");

}  // namespace pq
