#include "job.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>

namespace nb = nanobind;

namespace pq {

Job::Job(std::shared_ptr<Team> team, ReadSpec spec)
    : read_(std::make_shared<ReadWork>(std::move(spec))),
      work_(std::make_shared<Work>(std::move(team),
                                   [read = read_](Phase& phase) { return read->next(phase); })) {}

void Job::submit() {
  const nb::gil_scoped_release release;
  work_->submit();
}

void Job::begin_here() {
  const nb::gil_scoped_release release;
  work_->begin_here();
}

bool Job::wait(i64 timeout_ns) {
  constexpr i64 POLL_NS = 40'000'000;  // how often a waiting thread looks for signals
  if (is_done()) return true;
  while (timeout_ns > 0) {
    const i64 now = std::min(timeout_ns, POLL_NS);
    timeout_ns -= now;
    bool done;
    {
      const nb::gil_scoped_release release;
      done = work_->wait(now);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (done) return true;
  }
  return is_done();
}

Read& Job::finished_or_failed() {
  while (!wait(std::numeric_limits<i64>::max())) {
  }
  return read_->read();
}

Read& Job::finished() {
  Read& read = finished_or_failed();
  work_->rethrow();
  if (is_cancelled()) throw nb::value_error("the job was cancelled");
  return read;
}

void bind_job(nb::module_& m, Decoded (*result)(Job&), nb::tuple (*recorded)(Job&)) {
  nb::class_<Job>(m, "Job", "A read under way: the pool's threads work on it without the GIL.")
      .def_prop_ro("done", &Job::is_done)
      .def_prop_ro("done_ns", &Job::done_ns, "When it was done, of time.perf_counter_ns(); or 0.")
      .def_prop_ro("cancelled", &Job::is_cancelled)
      .def_prop_ro(
          "progress",
          [](const Job& job) {
            const Progress& progress = job.progress();
            return std::make_tuple(progress.pages_done.load(), progress.num_pages.load(),
                                   progress.bytes_done.load());
          },
          "Pages done, pages that there are (0: not known yet), bytes of the pages that are done.")
      .def("wait", &Job::wait, nb::arg("timeout_ns"), "Whether it is done by then.")
      .def("urge", &Job::urge, "Serve it before all others.")
      .def("cancel", &Job::cancel, "Take up nothing more of it.")
      .def("result", result, "Wait, and take the columns, once; raises what ended it early.")
      .def("recorded", recorded,
           "Wait; the events, and what the requests were for, also where an error ended it.");
  m.def(
      "pool_usage",
      [] {
        const PoolUsage usage = pool_usage();
        return std::make_tuple(usage.threads, usage.busy_ns);
      },
      "Threads of the pool, and how long all of them together have been busy so far.");
  m.def(
      "stop_pool",
      [] {
        const nb::gil_scoped_release release;
        stop_pool();
      },
      "Cancel all jobs and wait for what runs.");
  nb::module_::import_("atexit").attr("register")(m.attr("stop_pool"));
}

}  // namespace pq
