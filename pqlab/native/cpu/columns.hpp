// What a read makes of the leaves of a file: how each is decoded, and the Arrow columns above them.
// Made once for a file and the leaves that are read of it, and shared by its reads.
#pragma once
#include <string>
#include <vector>

#include "arrow.hpp"
#include "nested.hpp"
#include "values.hpp"

namespace pq {

// The values that polars has dates for: [first, stop) of what is stored; none: any value.
struct Calendar {
  i64 first = 0;
  i64 stop = 0;
  std::string type;  // for people

  bool is_bounded() const { return first < stop; }
};

// A leaf: a column of decoded values.
struct ColumnSpec {
  i32 leaf;
  ValueType type;
  u32 max_definition_level;
  Nesting nesting;
  Calendar calendar;
  // How many of the lists and optional groups above it are above the column before it, too.
  u32 shared_lists;
  u32 shared_groups;
  std::string name;  // dotted, for people
};

// What an array of the Arrow tree is made of.
enum class NodeKind : u8 {
  VALUES,    // of a leaf
  INTERVAL,  // of a leaf, whose three parts are the children
  PART,      // one of them
  STRUCT,
  LIST,
};

// A node of the Arrow tree. `column`: the first leaf at or under it, whose nesting counts.
struct ColumnNode {
  std::string format;
  std::string name;
  i64 flags;
  NodeKind kind;
  u32 column;
  u32 depth;                 // of a list its elements', of a struct its own; of a PART its ordinal
  i32 group;                 // in Nesting::groups, whose validity it has; -1: none
  std::string words_format;  // of what CODES stand for; empty: they are none
  std::vector<ColumnNode> children;
};

struct ColumnSet {
  std::vector<ColumnSpec> leaves;
  ColumnNode root;    // a struct whose children are the columns of a frame
  u64 num_nodes = 0;  // at and under the root
};

}  // namespace pq
