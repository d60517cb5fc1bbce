// What the files that bind reads share of their Python faces.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "decoded.hpp"
#include "read.hpp"

namespace pq {

struct Columns {
  std::shared_ptr<const ColumnSet> set;
};

// Keeps a Python object; the last to let go of it may be any thread.
std::shared_ptr<const void> keep(nanobind::handle object);

// `tables`: row groups, chunks, runs and ranges, as plan.cuh lays them out. `buffers`: (start, the
// file's bytes from there on), sorted.
ReadSpec read_spec(const Columns& columns, const nanobind::tuple& tables,
                   const nanobind::sequence& buffers);

}  // namespace pq
