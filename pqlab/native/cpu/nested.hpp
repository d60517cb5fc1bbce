// Nested columns, the Dremel way: what the levels of one leaf say of the lists and groups above it.
//
// A leaf's entries are its pairs of levels. At each depth k (how many repeated fields enclose a
// slot; at depth 0 slots are rows) an entry (r, d) begins a slot where r <= k and d reaches
// `list_levels[k]`. Pages are decoded one by one; once all are, prefix sums of their slots say
// where each page's part of every output buffer lies, and the parts are filled one by one again.
#pragma once
#include <atomic>
#include <vector>

#include "error.hpp"
#include "leaf.hpp"
#include "levels.cuh"
#include "memory.hpp"
#include "values.hpp"

namespace pq {

// An optional group above a leaf: it is there where the definition level reaches `level`.
struct OptionalGroup {
  u32 depth;
  u32 level;
};

struct Nesting {
  bool nested = false;              // else the column is flat: a value a row, and its own validity
  std::vector<u32> list_levels{0};  // by depth; [0] is 0, [k] the k-th repeated field's level
  std::vector<OptionalGroup> groups;
  u32 max_definition_level = 0;
  bool leaf_is_optional = false;

  u32 max_repetition_level() const { return static_cast<u32>(list_levels.size()) - 1; }
};

// A decoded page of a nested column, or the part of it that is wanted.
struct NestedPage {
  u64 count = 0;      // entries
  Buffer repetition;  // levels; empty where nothing repeats
  Buffer definition;
  Buffer values;  // those that are there, one after the other
  u64 num_values = 0;
  std::vector<u64> slots;        // that begin in the page, by depth
  std::vector<u64> first_slots;  // of the output, by depth
  Level first_repetition = 0;    // levels of the first entry and of the last; 0: none
  Level last_definition = 0;

  const Level* r() const { return reinterpret_cast<const Level*>(repetition.data()); }
  const Level* d() const { return reinterpret_cast<const Level*>(definition.data()); }
  bool begins_within_row() const { return first_repetition != 0; }
};

struct BitmapOutput {
  Buffer bits;
  std::atomic<i64> null_count{0};
};

struct NestedOutput {
  std::vector<u64> slots;            // by depth
  std::vector<Buffer> offsets;       // of depth k in [k - 1]: i64, slots[k - 1] + 1 of them
  std::vector<BitmapOutput> groups;  // of Nesting::groups
};

// An entry of a page that goes on with a list that has no element.
Error order_error(u64 entry, u32 repetition_level);

// Counts the slots and the values of a page whose levels are there. An entry that repeats at depth
// k goes on with a list that has an element, before it and in it: throws Error (Corrupt) where the
// definition levels say otherwise.
void count_slots(const Nesting& nesting, NestedPage& page);

// The same of a page's first entry and the last definition level of the page before it.
void check_first(const Nesting& nesting, const NestedPage& page, Level last_level);

// Keeps what lies in some of the rows, given as sorted, disjoint ranges [start, stop) that count
// from the page's first entry's row.
struct RowsInPage {
  u64 start;
  u64 stop;
};
void cut(const Nesting& nesting, ValueType type, const std::vector<RowsInPage>& rows,
         NestedPage& page);

// Writes a page's part of the output. `values`, `validity` and `null_count` are the leaf's own.
void fill(const Nesting& nesting, ValueType type, const NestedPage& page, NestedOutput& output,
          u8* values, u8* validity, std::atomic<i64>& null_count);

}  // namespace pq
