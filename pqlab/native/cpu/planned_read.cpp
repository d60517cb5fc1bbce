// A plan, and how it is read: consecutive row groups of it are begun as jobs.
#include <nanobind/stl/unique_ptr.h>

#include "bindings.hpp"
#include "coalesce.hpp"
#include "decode_bindings.hpp"
#include "job.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

class PlannedRead {
 public:
  // `spec`: of none of the rows yet.
  PlannedRead(PlanTables tables, ReadSpec spec, std::shared_ptr<Team> team, Coalescing by)
      : tables_(std::move(tables)), spec_(std::move(spec)), team_(std::move(team)), by_(by) {}

  // The row groups at positions [start, stop). What they need is in `buffers`, or in the file.
  std::unique_ptr<Job> begin(u64 start, u64 stop, const nb::sequence& buffers, bool here) const {
    const PlanRows rows = tables_.part(start, stop, spec_.columns().size());
    ReadSpec spec = spec_;
    add_plan(rows, spec);
    if (spec.fetch.file == nullptr) {
      add_buffers(buffers, spec);
    } else {
      add_requests(requests(rows.runs), spec);
    }
    auto job = std::make_unique<Job>(team_, std::move(spec));
    here ? job->begin_here() : job->submit();
    return job;
  }

 private:
  std::vector<ByteRange> requests(Rows<PlannedRun> runs) const {
    std::vector<ByteRange> wanted;
    wanted.reserve(runs.size());
    for (const PlannedRun& run : runs) {
      if (run.start < run.stop) wanted.push_back({run.start, run.stop});
    }
    return coalesce(std::move(wanted), by_);
  }

  PlanTables tables_;
  ReadSpec spec_;
  std::shared_ptr<Team> team_;
  Coalescing by_;
};

}  // namespace

void bind_planned_read(nb::module_& m) {
  nb::class_<PlannedRead>(m, "PlannedRead", "A plan, of which row groups are read part by part.")
      .def(
          "__init__",
          [](PlannedRead* self, const Columns& columns, const nb::tuple& tables,
             const FileHandle* file, const TeamHandle& team, const Coalescing* coalescing,
             bool verify_checksums, bool trace, bool is_compressed_is_wrong,
             bool prefixes_reach_back, bool for_polars, i64 page_bytes, i64 read_bytes) {
            ReadSpec spec;
            spec.column_set = columns.set;
            spec.workers = team.team->workers;
            spec.verify_checksums = verify_checksums;
            spec.trace = trace;
            spec.is_compressed_is_wrong = is_compressed_is_wrong;
            spec.prefixes_reach_back = prefixes_reach_back;
            spec.for_polars = for_polars;
            spec.max_page_bytes = page_bytes;
            spec.max_read_bytes = read_bytes;
            if (file != nullptr) spec.fetch.file = file->file;
            new (self) PlannedRead(plan_tables(tables), std::move(spec), team.team,
                                   coalescing != nullptr ? *coalescing : Coalescing{});
          },
          nb::arg("columns"), nb::arg("tables"), nb::arg("file").none(), nb::arg("team"),
          nb::arg("coalescing").none(), nb::kw_only(), nb::arg("verify_checksums"),
          nb::arg("trace"), nb::arg("is_compressed_is_wrong"), nb::arg("prefixes_reach_back"),
          nb::arg("for_polars"), nb::arg("page_bytes"), nb::arg("read_bytes"))
      .def("begin", &PlannedRead::begin, nb::arg("start"), nb::arg("stop"),
           nb::arg("buffers") = nb::tuple(), nb::arg("here") = false,
           "Begin to read the row groups at positions [start, stop); without a file: of buffers.");
}

}  // namespace pq
