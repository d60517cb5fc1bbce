// One stage of one page (or of one request) on the trace's clock; pqlab/trace/events.py has the
// same layout and the same numbers.
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
  PLAN = 11,
  FAILURE = 12,
};

// How far a page was when the consumer of an iteration asked for its rows.
enum class Prefetch : u8 { NONE = 0, READY = 1, LATE = 2, QUEUE_EMPTY = 3 };

// Why bytes are fetched.
enum class Reason : u8 {
  NONE = 0,
  FOOTER = 1,
  PAGE_INDEX = 2,
  PAGE_HEADERS = 3,
  PAGES = 4,
  DICTIONARY = 5,
};

// Cells that do not apply are as they are here: -1, of `page` -2, of the last two 0.
struct Event {
  i64 start_ns = 0;  // CLOCK_MONOTONIC, as Python's time.perf_counter_ns() on Linux
  i64 duration_ns = 0;
  i64 queued_ns = -1;  // how long the page's task lay in the queue; in the task's last event
  i64 offset = -1;     // of the page or request, in the file
  i64 bytes_in = -1;
  i64 bytes_out = -1;
  i64 values = -1;
  i32 row_group = -1;
  i32 leaf = -1;
  i32 page = -2;    // -1: the dictionary page
  i32 length = -1;  // bytes of the page in the file, header and body
  i32 request_id = -1;
  i32 page_faults = -1;  // of the page's task; in its last event
  i16 worker = -1;       // native worker or stream; -1: the calling thread
  Stage stage = Stage::FETCH;
  i8 encoding = -1;
  i8 codec = -1;
  Prefetch prefetch = Prefetch::NONE;
  Reason reason = Reason::NONE;
  u8 reserved = 0;
};

// Bytes [start, stop) of the file, which came with a request for a chunk.
struct Served {
  i64 start;
  i64 stop;
  i32 request_id;
  i32 row_group;
  i32 leaf;
};

static_assert(sizeof(Event) == 88, "pqlab/trace/events.py has the same layout");
static_assert(sizeof(Served) == 32, "pqlab/trace/events.py has the same layout");

}  // namespace pq
