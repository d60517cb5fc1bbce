// Chunks recognised by their shape.
//
// Row groups repeat: the same column's chunk in the next row group has the same fields in the same
// order, and its varints mostly have the same lengths. Once a chunk has been walked, its shape says
// which bits must be equal in the next one (everything but the payload of varints and the bytes of
// bounds). One masked compare of the two structs' bytes then proves that walking would find the
// same fields, and the numbers are taken from where they must be.
//
// What varies in length (bounds that are strings) breaks shapes. Learning costs more than walking,
// so it begins with every 16th column, goes on only while recognition succeeds more often than it
// fails, and rests for columns that failed three times in a row.
#pragma once
#include <cstring>
#include <unordered_map>
#include <vector>

#include "footer_chunk.hpp"

namespace pq {

inline u64 load_word(const u8* bytes) {
  u64 word;
  std::memcpy(&word, bytes, sizeof word);  // little endian, as every machine that pqlab runs on
  return word;
}

// The number in the low bytes of a zigzag varint, given the mask of its payload bits. It is known
// not to be negative, so the sign bit is shifted out.
inline i64 varint_payload(u64 word, u64 payload) {
  word &= payload;
  word = (word & 0x007f007f007f007full) | (word & 0x7f007f007f007f00ull) >> 1;
  word = (word & 0x00003fff00003fffull) | (word & 0x3fff00003fff0000ull) >> 2;
  word = (word & 0x000000000fffffffull) | (word & 0x0fffffff00000000ull) >> 4;
  return static_cast<i64>(word >> 1);
}

struct Shape {
  struct Number {
    u16 offset;  // of the varint, from the chunk's start
    u8 column;   // ChunkColumn to which it is added
    u64 payload;
  };
  static constexpr u64 MAX_BYTES = 1024;

  u64 num_bytes = 0;
  std::vector<u64> mask;  // of the bits that must be equal, by words of 8 bytes
  std::vector<Number> numbers;
  i64 base[CHUNK_COLUMNS] = {};  // what is the same for all chunks of the shape

  bool matches(const u8* chunk, const u8* previous) const {
    u64 differs = 0;
    const u64* bits = mask.data();
    for (u64 w = 0, words = mask.size(); w < words; ++w) {
      differs |= (load_word(chunk + 8 * w) ^ load_word(previous + 8 * w)) & bits[w];
    }
    return differs == 0;
  }

  bool operator==(const Shape& other) const;
  u64 hash() const;
};

// Hears of a chunk's varying parts while it is walked, and makes its shape of them.
class ShapeLayout {
 public:
  void begin(u64 start) {
    start_ = start;
    shape_ = Shape{};
    parts_.clear();
  }
  void varint(u64 start, u64 stop, const ThriftField& field, int column, i64 value);
  void bytes(const ThriftSpan& span) { parts_.push_back({span.start, span.start + span.size, 0}); }

  // False: the chunk is too long to be worth it.
  bool finish(u64 stop, const i64* row, Shape& out);

 private:
  struct Part {
    u64 start, stop;
    u8 fixed_bits;  // of each byte: which must be equal
  };
  u64 start_ = 0;
  Shape shape_;
  std::vector<Part> parts_;
};

class ShapePredictor {
 public:
  ShapePredictor(u64 num_leaves, u64 num_row_groups);

  // Recognise the chunk of `leaf` at the reader's position: fills row `table.cell(...)` and moves
  // the reader behind the chunk. False: it has to be walked.
  bool recognise(FooterReader& in, u64 leaf, ChunkTable& table);

  // Whether walking this chunk should learn its shape.
  bool should_learn(u64 leaf, u64 row_group) const;

  void learn(u64 leaf, Shape&& shape, u64 position);
  void forget(u64 leaf);

 private:
  static constexpr u32 NONE = ~0u;
  static constexpr u64 MAX_SHAPES = 4096;
  static constexpr i32 MAX_BALANCE = 4096;
  struct Leaf {
    u64 position = 0;  // of the chunk that was recognised or learned last
    u32 shape = NONE;
    u8 failures = 0;  // in a row
  };
  std::vector<Leaf> leaves_;
  std::vector<Shape> shapes_;
  std::unordered_multimap<u64, u32> by_hash_;
  bool worthwhile_;
  i32 balance_ = 0;  // recognised less not recognised
};

}  // namespace pq
