// The trace's clock.
#pragma once
#include <time.h>

#include "config.cuh"

namespace pq {

// CLOCK_MONOTONIC, as Python's time.perf_counter_ns() on Linux.
inline i64 now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<i64>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace pq
