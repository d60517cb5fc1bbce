// A read under way, as Python sees it.
#pragma once
#include "bindings.hpp"
#include "read.hpp"

namespace pq {

// Owns what it reads from. Dropped, it is cancelled; nobody waits for the threads that work on it.
class Job {
 public:
  Job(std::shared_ptr<Team> team, ReadSpec spec);
  ~Job() { cancel(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void submit();
  void begin_here();
  bool is_done() const { return work_->is_done(); }
  i64 done_ns() const { return work_->done_ns(); }
  void urge() { work_->urge(); }
  void cancel() { work_->cancel(); }
  bool is_cancelled() const { return work_->is_cancelled(); }
  // Waits without the GIL; a signal's exception ends the wait.
  bool wait(i64 timeout_ns);
  const Progress& progress() const { return read_->progress(); }
  // Waits; throws what ended the read early.
  Read& finished();
  Read& finished_or_failed();

 private:
  std::shared_ptr<ReadWork> read_;
  std::shared_ptr<Work> work_;
};

// `result`: what Job.result() gives; `recorded`: Job.recorded().
void bind_job(nanobind::module_& m, Decoded (*result)(Job&), nanobind::tuple (*recorded)(Job&));

}  // namespace pq
