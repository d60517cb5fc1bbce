// A small persistent pool of threads for reads. Each read is a Job of tasks with ordinals 0..count;
// workers take them in order, so that when task k fails, every task before it has been taken, and
// the error of the lowest failing task is the one that is reported, whatever the timing.
#pragma once
#include <functional>

#include "config.cuh"

namespace pq {

constexpr u32 MAX_WORKERS = 256;

// Calls run(task, worker) for every task in [0, count), on `workers` threads of the pool (worker is
// below `workers`); with `inline_only`, in the calling thread. About every 50 ms the
// calling thread calls `interrupted()`; once it gives true no further task is started, and the call
// returns false after those that run have ended. Rethrows the error of the lowest failing task.
// After a fork the child starts a pool of its own. Several threads may call it at once.
bool run_tasks(u64 count, u32 workers, bool inline_only, const std::function<void(u64, u32)>& run,
               const std::function<bool()>& interrupted);

}  // namespace pq
