// A small persistent pool of threads for reads. A read is Work in phases of tasks; several share
// the pool, the one that was submitted first served first, and later ones fill the gaps.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "config.cuh"

namespace pq {

constexpr u32 MAX_WORKERS = 256;

// Works that together take no more than so many of the pool's threads at a time. While one works,
// it has the lowest number below `workers` that no other of the team has.
struct Team {
  explicit Team(u32 workers_);

  const u32 workers;
  u32 active = 0;           // under the pool's mutex, as the next
  std::vector<bool> taken;  // numbers
};

// Tasks with ordinals in [0, count). Threads take them in order, so that when task k fails, every
// task before it has been taken, and the error of the lowest failing task is the one that is kept,
// whatever the timing. Whatever is taken is run: a later task may wait for it.
struct Phase {
  u64 count = 0;
  std::function<void(u64 task, i32 worker)> run;
  bool small = false;  // the thread that set it up runs it alone: waking others costs more
};

// Phases, each set up by the thread that ended the one before. Outlives whoever began it for as
// long as its tasks run.
class Work : public std::enable_shared_from_this<Work> {
 public:
  // `next` sets up the next phase; false: the work is done. What it throws ends the work.
  Work(std::shared_ptr<Team> team, std::function<bool(Phase&)> next);

  // Hand everything to the pool.
  void submit();
  // Set up in the calling thread (worker -1), which runs small phases, too; the pool gets the rest.
  void begin_here();
  // Serve it before all others.
  void urge();
  // No further task is taken; those that run end.
  void cancel();

  bool is_done() const { return done_.load(std::memory_order_acquire); }
  bool is_cancelled() const { return cancelled_.load(); }
  // False: it is not done after so many nanoseconds. Throws if a fork has lost it.
  bool wait(i64 timeout_ns);
  // When it was done, on the trace's clock; 0: it is not.
  i64 done_ns() const { return done_ns_.load(); }
  // Rethrows what ended the work early.
  void rethrow() const;

 private:
  friend class Pool;

  bool set_up(i32 worker);
  void take_tasks(i32 worker);
  // Until `changes` are no longer as many as the caller has looked at.
  void take_tasks(i32 worker, const std::atomic<u64>& changes, u64 looked);
  void fail(u64 task);
  void finish();
  bool has_tasks() const {
    return next_task_.load(std::memory_order_relaxed) < phase_.count && !stopped_.load();
  }

  const std::shared_ptr<Team> team_;
  std::function<bool(Phase&)> next_;
  Phase phase_;
  std::atomic<u64> next_task_{0};
  std::atomic<bool> stopped_{false};  // by a failure, or because it was cancelled
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> done_{false};
  std::atomic<i64> done_ns_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  u64 failed_task_ = 0;
  // Under the pool's mutex:
  enum class State : u8 { SET_UP_WANTED, SETTING_UP, TASKS, ENDED } state_ = State::SET_UP_WANTED;
  u32 active_ = 0;  // threads that work on it
  u64 generation_ = 0;
  std::condition_variable ended_;
};

// What the pool's threads have done since the process began.
struct PoolUsage {
  u32 threads;
  i64 busy_ns;  // of all of them together, until now
};
PoolUsage pool_usage();

// Cancels all work and waits for what runs: before the process tears down what it needs.
void stop_pool();

// Calls run(task, worker) for every task in [0, count), on up to `workers` threads, or with
// `inline_only` in the calling thread. Rethrows the error of the lowest failing task.
void run_tasks(u64 count, u32 workers, bool inline_only, const std::function<void(u64, i32)>& run);

}  // namespace pq
