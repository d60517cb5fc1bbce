// Nested columns, the Dremel way: what the levels of one leaf say of the lists and groups above it.
//
// A leaf's entries are its pairs of levels. At each depth k (how many repeated fields enclose a
// slot; at depth 0 slots are rows) an entry (r, d) begins a slot where r <= k and d reaches
// `list_levels[k]`. Pages are decoded at the same time, but take their places one after the other:
// how many slots begin in a page says where the part of the next one lies in every output buffer.
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

// The levels of a page of a nested column, or of the part of it that is wanted.
struct NestedPage {
  u64 count = 0;      // entries
  Buffer repetition;  // levels; empty where nothing repeats
  Buffer definition;
  u64 num_values = 0;            // that are there
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
  std::vector<u64> slots;            // by depth: of the pages that have their places
  std::vector<u64> room;             // for so many
  std::atomic<u32> turn{0};          // of the page that takes its place next
  bool placing_failed = false;       // and so those that follow have none
  std::vector<Buffer> offsets;       // of depth k in [k - 1]: i64, slots[k - 1] + 1 of them
  std::vector<BitmapOutput> groups;  // of Nesting::groups
};

// An entry of a page that goes on with a list that has no element.
Error order_error(u64 entry, u32 repetition_level);

// The levels of a page's entries as planes of bits (SlotLoops), each made when it is asked for.
class Planes {
 public:
  Planes(const Nesting& nesting, const NestedPage& page);

  u64 words() const { return words_; }

  // Where the definition level is at least `level`.
  const u64* reaching(u32 level);

  // Where the repetition level is at least `level`.
  const u64* repeating(u32 level);

  // Where an entry begins a slot at `depth`.
  const u64* beginning(u32 depth);

 private:
  const u64* at_least(const Level* levels, u32 level, Buffer& plane) const;

  const Nesting* nesting_;
  const NestedPage* page_;
  u64 words_;
  std::vector<Buffer> reaching_, repeating_, beginning_;
};

// Counts the slots and the values of a page whose levels are there. An entry that repeats at depth
// k goes on with a list that has an element, before it and in it: throws Error (Corrupt) where the
// definition levels say otherwise.
void count_slots(const Nesting& nesting, Planes& planes, NestedPage& page);

// The same of a page's first entry and the last definition level of the page before it.
void check_first(const Nesting& nesting, const NestedPage& page, Level last_level);

// Rows, or values, [start, stop) of a page.
struct PageRange {
  u64 start;
  u64 stop;
};

// Keeps the levels of what lies in some of the rows, given as sorted, disjoint ranges that count
// from the page's first entry's row; gives the ranges of values that are there.
std::vector<PageRange> cut(const Nesting& nesting, const std::vector<PageRange>& rows,
                           NestedPage& page);

// Writes what a page's levels say to its part of the output: offsets, what is null of the groups
// and, to `validity` and `null_count`, of the leaf. `bits` becomes what is null of the page's own
// slots, where any is.
void fill_levels(const Nesting& nesting, Planes& planes, const NestedPage& page,
                 NestedOutput& output, u8* validity, std::atomic<i64>& null_count, Buffer& bits);

// Writes a page's values, one after the other, to its part of the leaf's.
void fill_values(ValueType type, const Buffer& bits, const NestedPage& page, const u8* values,
                 u8* out);

}  // namespace pq
