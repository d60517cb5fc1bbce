// What decode.cpp and columns.cpp share of their Python faces.
#pragma once
#include <memory>

#include "decoded.hpp"

namespace pq {

struct Columns {
  std::shared_ptr<const ColumnSet> set;
};

}  // namespace pq
