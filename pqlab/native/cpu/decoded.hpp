// What a read leaves behind, and how other libraries take it: the Arrow C data interface.
#pragma once
#include <memory>
#include <vector>

#include "arrow.hpp"
#include "columns.hpp"
#include "memory.hpp"
#include "words.hpp"

namespace pq {

// Bytes that views point into: memory of our own, or a part of what was fetched, which `owner`
// keeps. Empty: no view needs it.
struct ViewBuffer {
  Buffer owned;
  const u8* data = nullptr;
  u64 size = 0;
  std::shared_ptr<const void> owner;
};

struct DecodedGroup {
  Buffer bits;  // empty: none is null
  i64 null_count;
};

// A leaf's buffers, as Arrow lays them out. INTERVAL has values of 12 bytes: months, days,
// milliseconds. What a leaf shares with the one before it is kept there alone.
struct DecodedLeaf {
  ValueType type;
  Buffer values;
  Buffer validity;  // empty: nothing is null
  i64 null_count;
  std::vector<ViewBuffer> view_buffers;
  std::unique_ptr<Words> words;  // that CODES stand for, sorted
  std::vector<u64> slots;        // by depth: rows first, values last
  std::vector<Buffer> offsets;
  std::vector<DecodedGroup> groups;

  u64 bytes() const;
};

struct Decoded {
  std::shared_ptr<const ColumnSet> columns;
  std::vector<std::shared_ptr<const DecodedLeaf>> leaves;
  i64 num_rows = 0;

  u64 bytes() const;
};

// Fills the structs for a node of the tree; whoever has them must release them. Memory of the
// leaves under the node is kept until the last array is released.
void export_schema(const std::shared_ptr<const ColumnSet>& columns, const ColumnNode& node,
                   ArrowSchema& out);
void export_array(const Decoded& decoded, const ColumnNode& node, ArrowArray& out);

}  // namespace pq
