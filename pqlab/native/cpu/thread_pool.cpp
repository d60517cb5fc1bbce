#include "thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <new>
#include <system_error>
#include <thread>

#include "clock.hpp"
#include "error.hpp"

namespace pq {

namespace {

// As the kernel has it; not all C libraries do.
struct SchedulingAttributes {
  u32 size = sizeof(SchedulingAttributes);
  u32 policy = SCHED_BATCH;
  u64 flags = 0;
  i32 nice = 0;
  u32 priority = 0;
  // Of a slice. Longer than others' (about 3 ms): who wakes up with a shorter one gets a worker's
  // processor at once. Not the longest that there is: where it does not, it waits for the rest.
  u64 runtime_ns = 10'000'000;
  u64 deadline_ns = 0;
  u64 period_ns = 0;
};

void take_long_slices() {
  const SchedulingAttributes attributes;
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  const sched_param priority{};
  sched_setscheduler(0, SCHED_BATCH, &priority);
}

}  // namespace

// The pool is never destroyed: its threads end with the process.
class Pool {
 public:
  static Pool& instance() {
    static const int registered = pthread_atfork([] { mutex().lock(); }, [] { mutex().unlock(); },
                                                 [] {
                                                   // Only the forking thread lives on: what the
                                                   // pool's threads were doing is lost with them.
                                                   new (&mutex()) std::mutex();
                                                   pool() = nullptr;
                                                   ++generation();
                                                 });
    (void)registered;
    const std::lock_guard<std::mutex> lock(mutex());
    if (pool() == nullptr) pool() = new Pool();
    return *pool();
  }

  void add(const std::shared_ptr<Work>& work) {
    const std::lock_guard<std::mutex> lock(mutex());
    work->generation_ = generation();
    grow(work->team_->workers);
    queue_.push_back(work);
    wake(work->state_ == Work::State::TASKS ? work->phase_.count : 1);
  }

  void urge(const std::shared_ptr<Work>& work) {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto found = std::find(queue_.begin(), queue_.end(), work);
    if (found == queue_.end() || found == queue_.begin()) return;
    queue_.erase(found);
    queue_.push_front(work);
    ++changes_;
  }

  // What waits for a thread to take it ends here; else the last thread that works on it ends it.
  void drop(const std::shared_ptr<Work>& work) {
    const std::lock_guard<std::mutex> lock(mutex());
    if (work->generation_ != generation()) return;
    if (work->active_ == 0 && work->state_ != Work::State::ENDED) end(*work);
  }

  bool wait(Work& work, i64 timeout_ns) {
    std::unique_lock<std::mutex> lock(mutex());
    if (work.is_done()) return true;
    if (work.generation_ != generation()) {
      throw Error(ErrorKind::Source, "the read was lost when the process forked");
    }
    const auto ended = [&] { return work.state_ == Work::State::ENDED; };
    return work.ended_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ended);
  }

  PoolUsage usage() {
    const std::lock_guard<std::mutex> lock(mutex());
    return {size_, busy_ns_ + busy_ * now_ns() - busy_since_ns_};
  }

  void stop() {
    std::unique_lock<std::mutex> lock(mutex());
    const std::deque<std::shared_ptr<Work>> all = queue_;
    for (const auto& work : all) {
      work->cancelled_ = work->stopped_ = true;
      if (work->active_ == 0) end(*work);
    }
    idle_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  static std::mutex& mutex() {
    static auto* mutex = new std::mutex();
    return *mutex;
  }
  static Pool*& pool() {
    static Pool* pool = nullptr;
    return pool;
  }
  static u64& generation() {
    static u64 generation = 0;
    return generation;
  }

  void grow(u32 workers) {
    try {
      for (; size_ < workers; ++size_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error& error) {
      if (size_ != 0) return;  // fewer threads than asked for serve everything, too
      throw Error(ErrorKind::Limit, std::string("no thread could be started: ") + error.what());
    }
  }

  void wake(u64 threads) {
    if (threads >= size_) return wanted_.notify_all();
    for (; threads > 0; --threads) wanted_.notify_one();
  }

  // The first in the queue that has something to do for one more thread.
  std::shared_ptr<Work> find() const {
    for (const auto& work : queue_) {
      if (work->team_->active >= work->team_->workers) continue;
      if (work->state_ == Work::State::SET_UP_WANTED) return work;
      if (work->state_ == Work::State::TASKS && work->has_tasks()) return work;
    }
    return nullptr;
  }

  void serve() {
    // A batch thread does not take the processor from the thread that wakes it: who begins a read
    // goes on at once, and does not wait for milliseconds until a page of it is decoded.
    take_long_slices();
    std::unique_lock<std::mutex> lock(mutex());
    for (;;) {
      std::shared_ptr<Work> work;
      wanted_.wait(lock, [&] { return (work = find()) != nullptr; });
      const u32 number = join(*work);
      const i64 start_ns = now_ns();
      ++busy_;
      busy_since_ns_ += start_ns;
      do_work(lock, *work, static_cast<i32>(number));
      leave(*work->team_, number);
      // Without the lock, but busy: this may be the last reference to all that was read.
      lock.unlock();
      work.reset();
      lock.lock();
      --busy_;
      busy_since_ns_ -= start_ns;
      busy_ns_ += now_ns() - start_ns;
      if (busy_ == 0) idle_.notify_all();
    }
  }

  static u32 join(Work& work) {
    Team& team = *work.team_;
    ++team.active;
    ++work.active_;
    const auto free = std::find(team.taken.begin(), team.taken.end(), false);
    *free = true;
    return static_cast<u32>(free - team.taken.begin());
  }

  void leave(Team& team, u32 number) {
    team.taken[number] = false;
    // A team that was full may have kept others from what they could do.
    if (team.active-- == team.workers) wanted_.notify_one();
  }

  // Until there is nothing to do for this thread, or something new: tasks, and where they are the
  // last of their phase, what follows it.
  void do_work(std::unique_lock<std::mutex>& lock, Work& work, i32 worker) {
    for (;;) {
      u64 looked = changes_;
      if (work.state_ == Work::State::SET_UP_WANTED) {
        work.state_ = Work::State::SETTING_UP;
        lock.unlock();
        const bool more = work.set_up(worker);
        lock.lock();
        if (!more) {
          --work.active_;
          return end(work);
        }
        work.state_ = Work::State::TASKS;
        if (work.phase_.count > 1) {
          if (++changes_ == looked + 1) ++looked;  // its own
          wake(std::min<u64>(work.phase_.count, work.team_->workers) - 1);
        }
      }
      lock.unlock();
      work.take_tasks(worker, changes_, looked);
      lock.lock();
      if (work.active_ > 1 || work.has_tasks()) {
        --work.active_;
        return;
      }
      work.state_ = Work::State::SET_UP_WANTED;  // the phase has ended
    }
  }

  void end(Work& work) {
    work.state_ = Work::State::ENDED;
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const auto& queued) { return queued.get() == &work; });
    // The caller holds another reference.
    if (found != queue_.end()) queue_.erase(found);
    work.finish();
  }

  std::condition_variable wanted_;  // there is something to do
  std::condition_variable idle_;
  std::deque<std::shared_ptr<Work>> queue_;
  // How often there was something new to do: for an earlier work, threads leave a later one.
  std::atomic<u64> changes_{0};
  u32 size_ = 0;
  u32 busy_ = 0;
  i64 busy_ns_ = 0;        // of threads when they had ended what they did
  i64 busy_since_ns_ = 0;  // the sum over those that are busy
};

Team::Team(u32 workers_) : workers(std::clamp(workers_, 1u, MAX_WORKERS)), taken(workers, false) {}

Work::Work(std::shared_ptr<Team> team, std::function<bool(Phase&)> next)
    : team_(std::move(team)), next_(std::move(next)) {}

void Work::submit() { Pool::instance().add(shared_from_this()); }

void Work::begin_here() {
  if (!set_up(-1)) {
    state_ = State::ENDED;
    return finish();
  }
  state_ = State::TASKS;
  submit();
}

void Work::urge() {
  if (!is_done()) Pool::instance().urge(shared_from_this());
}

void Work::cancel() {
  if (is_done()) return;
  cancelled_ = stopped_ = true;
  Pool::instance().drop(shared_from_this());
}

bool Work::wait(i64 timeout_ns) { return is_done() || Pool::instance().wait(*this, timeout_ns); }

void Work::rethrow() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

// The next phase that others can help with; small ones are run on the way. False: none is left.
bool Work::set_up(i32 worker) {
  while (!stopped_) {
    Phase phase;
    try {
      if (!next_(phase)) return false;
    } catch (...) {
      fail(0);
      return false;
    }
    phase_ = std::move(phase);
    next_task_ = 0;
    if (phase_.count != 0 && !phase_.small) return true;
    take_tasks(worker);
  }
  return false;
}

void Work::take_tasks(i32 worker) {
  const std::atomic<u64> nothing_else{0};
  take_tasks(worker, nothing_else, 0);
}

void Work::take_tasks(i32 worker, const std::atomic<u64>& changes, u64 looked) {
  while (!stopped_.load(std::memory_order_relaxed)) {
    const u64 task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= phase_.count) return;
    try {
      phase_.run(task, worker);
    } catch (...) {
      fail(task);
    }
    if (changes.load(std::memory_order_relaxed) != looked) return;
  }
}

void Work::fail(u64 task) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  if (error_ == nullptr || task < failed_task_) {
    error_ = std::current_exception();
    failed_task_ = task;
  }
  stopped_ = true;
}

void Work::finish() {
  done_ns_ = now_ns();
  done_.store(true, std::memory_order_release);
  ended_.notify_all();
}

PoolUsage pool_usage() { return Pool::instance().usage(); }

void stop_pool() { Pool::instance().stop(); }

void run_tasks(u64 count, u32 workers, bool inline_only, const std::function<void(u64, i32)>& run) {
  bool given = false;
  const auto work = std::make_shared<Work>(std::make_shared<Team>(workers), [&](Phase& phase) {
    if (given) return false;
    given = true;
    phase = {count, run, inline_only};
    return true;
  });
  work->begin_here();
  while (!work->wait(1'000'000'000)) {
  }
  work->rethrow();
}

}  // namespace pq
