// The trace's clock, and what the kernel counts of a thread.
#pragma once
#include <sys/resource.h>
#include <time.h>

#include "config.cuh"

namespace pq {

// CLOCK_MONOTONIC, as Python's time.perf_counter_ns() on Linux.
inline i64 now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<i64>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Minor page faults of the calling thread so far.
inline i64 thread_page_faults() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

}  // namespace pq
