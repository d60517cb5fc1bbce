// What the files that bind reads share of their Python faces.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "coalesce.hpp"
#include "decoded.hpp"
#include "plan.cuh"
#include "read.hpp"

namespace pq {

struct Columns {
  std::shared_ptr<const ColumnSet> set;
};

// What Python has of them: nanobind's own pointers to what it shares need the GIL to be dropped.
struct FileHandle {
  std::shared_ptr<const File> file;
};
struct TeamHandle {
  std::shared_ptr<Team> team;
};

// Consecutive rows of a table.
template <class Row>
struct Rows {
  const Row* first = nullptr;
  u64 count = 0;

  const Row* begin() const { return first; }
  const Row* end() const { return first + count; }
  u64 size() const { return count; }
  const Row& operator[](u64 at) const { return first[at]; }
};

// Row groups of a plan and what belongs to them, which count from `first_run` and `first_range`.
struct PlanRows {
  Rows<PlannedRowGroup> row_groups;
  Rows<PlannedChunk> chunks;
  Rows<PlannedRun> runs{};
  Rows<PlannedRange> ranges{};
  u32 first_run = 0;
  u32 first_range = 0;
};

struct PlanTables {
  std::vector<PlannedRowGroup> row_groups;
  std::vector<PlannedChunk> chunks;
  std::vector<PlannedRun> runs;
  std::vector<PlannedRange> ranges;

  // The row groups at positions [start, stop), of `width` chunks each. Throws where these, or what
  // they refer to, are not there.
  PlanRows part(u64 start, u64 stop, u64 width) const;
};

// Keeps a Python object; the last to let go of it may be any thread.
std::shared_ptr<const void> keep(nanobind::handle object);

// `tables`: row groups, chunks, runs and ranges, as plan.cuh lays them out.
PlanTables plan_tables(const nanobind::tuple& tables);

// Adds what is planned; throws where it refers to what is not there.
void add_plan(const PlanRows& rows, ReadSpec& spec);

// A read of all of the plan, whose bytes are there.
ReadSpec read_spec(const Columns& columns, const nanobind::tuple& tables,
                   const nanobind::sequence& buffers);

// Adds bytes that are there. `buffers`: (start, the file's bytes from there on), sorted.
void add_buffers(const nanobind::sequence& buffers, ReadSpec& spec);

// Adds what native code fetches itself. `requests`: sorted and disjoint.
void add_requests(const std::vector<ByteRange>& requests, ReadSpec& spec);

}  // namespace pq
