#include "thread_pool.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace pq {
namespace {

constexpr auto POLL = std::chrono::milliseconds(50);

class Job {
 public:
  Job(u64 count, const std::function<void(u64, u32)>& run) : count_(count), run_(run) {}

  // Take tasks until none is left.
  void work(u32 worker) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      const u64 task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= count_) return;
      try {  // whatever is taken is run: a later task may wait for it
        run_(task, worker);
      } catch (...) {
        fail(task);
      }
    }
  }

  bool finished() const { return stopped_.load() || next_.load() >= count_; }
  void stop() { stopped_.store(true); }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void fail(u64 task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_ == nullptr || task < failed_task_) {
      error_ = std::current_exception();
      failed_task_ = task;
    }
    stop();
  }

  const u64 count_;
  const std::function<void(u64, u32)>& run_;
  std::atomic<u64> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  u64 failed_task_ = 0;
};

// Threads wait for tickets; a ticket is one worker's share in a job. The pool is never destroyed:
// its threads end with the process.
class Pool {
 public:
  static Pool& instance() {
    static const int registered = pthread_atfork([] { mutex().lock(); }, [] { mutex().unlock(); },
                                                 [] {
                                                   // Only the forking thread lives on: what the
                                                   // pool's threads were doing is lost with them.
                                                   new (&mutex()) std::mutex();
                                                   pool() = nullptr;
                                                 });
    (void)registered;
    const std::lock_guard<std::mutex> lock(mutex());
    if (pool() == nullptr) pool() = new Pool();
    return *pool();
  }

  bool run(Job& job, u32 workers, const std::function<bool()>& interrupted) {
    std::unique_lock<std::mutex> lock(mutex_);
    grow(workers);
    u32 unfinished = workers;
    for (u32 worker = 0; worker < workers; ++worker) {
      tickets_.push_back({&job, worker, &unfinished});
    }
    work_.notify_all();
    bool was_interrupted = false;
    auto next_poll = std::chrono::steady_clock::now() + POLL;
    while (unfinished != 0) {
      if (job.finished()) unfinished -= retract(job);
      if (unfinished == 0) break;
      if (done_.wait_until(lock, next_poll) != std::cv_status::timeout) continue;
      next_poll += POLL;
      if (was_interrupted) continue;
      lock.unlock();
      was_interrupted = interrupted();
      if (was_interrupted) job.stop();
      lock.lock();
    }
    return !was_interrupted;
  }

 private:
  struct Ticket {
    Job* job;
    u32 worker;
    u32* unfinished;
  };

  static std::mutex& mutex() {
    static auto* mutex = new std::mutex();
    return *mutex;
  }
  static Pool*& pool() {
    static Pool* pool = nullptr;
    return pool;
  }

  void grow(u32 workers) {
    try {
      for (; size_ < workers; ++size_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      if (size_ == 0) throw;  // fewer threads than asked for serve all tickets, too
    }
  }

  // Take back the tickets of a job that no thread has begun; how many those were.
  u32 retract(const Job& job) {
    const std::size_t before = tickets_.size();
    for (auto ticket = tickets_.begin(); ticket != tickets_.end();) {
      ticket = ticket->job == &job ? tickets_.erase(ticket) : ticket + 1;
    }
    return static_cast<u32>(before - tickets_.size());
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return !tickets_.empty(); });
      const Ticket ticket = tickets_.front();
      tickets_.pop_front();
      lock.unlock();
      ticket.job->work(ticket.worker);
      lock.lock();
      --*ticket.unfinished;
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Ticket> tickets_;
  u32 size_ = 0;
};

}  // namespace

bool run_tasks(u64 count, u32 workers, bool inline_only, const std::function<void(u64, u32)>& run,
               const std::function<bool()>& interrupted) {
  if (count == 0) return true;
  Job job(count, run);
  bool completed;
  if (inline_only) {
    job.work(0);
    completed = true;
  } else {
    if (workers > count) workers = static_cast<u32>(count);
    workers = workers == 0 ? 1 : workers > MAX_WORKERS ? MAX_WORKERS : workers;
    completed = Pool::instance().run(job, workers, interrupted);
  }
  if (completed) job.rethrow();
  return completed;
}

}  // namespace pq
