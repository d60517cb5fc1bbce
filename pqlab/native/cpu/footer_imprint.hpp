// A shape with the lengths of its varying parts: every byte of the chunk is at a known place.
//
// The numbers of a column's chunks mostly have as many digits in the next row group. Then one
// masked compare of the chunk's words says that it is of the shape and of these lengths, and its
// numbers are taken from where they must be, without waiting for one to know where the next begins.
// The path is left out, so that all columns share imprints.
#pragma once
#include "footer_shape.hpp"

namespace pq {

class Imprint {
 public:
  // Of a chunk of that shape. `usable()` is false where a number stands before the path.
  Imprint(const Shape& shape, u32 shape_id, const Lengths& lengths);

  bool usable() const { return usable_; }
  bool is(u32 shape_id, const Lengths& lengths) const;

  // As follow_shape.
  bool match(const Schema& schema, u64 leaf, FooterReader& in, ChunkTable& table) const;

 private:
  struct Number {
    u32 offset;  // behind the path
    u32 cell;    // where in the table's block, from the row's first cell
    u64 payload;
  };
  // The bytes up to the path, or from there to the end: four words, their four masks, and so on.
  struct Region {
    std::vector<u64> words;
    u64 num_bytes = 0;

    void append(const Shape::Word& word, u64 count);
  };

  template <class Machine>
  bool match(Machine machine, const Schema& schema, u64 leaf, FooterReader& in,
             ChunkTable& table) const;

  bool usable_ = true;
  u32 shape_;
  u32 columns_;  // bits: those that are set
  Region before_, behind_;
  std::vector<Number> numbers_;
  std::vector<Number> constants_;  // `payload` is the value
  i64 statistics_ = -1;            // start of the Statistics struct, behind the path
  std::vector<u8> lengths_;
};

}  // namespace pq
