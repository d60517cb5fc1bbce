// The layout that chunks share.
//
// Nearly all chunks of a file are laid out like others: the same fields in the same order, with the
// same codec and encodings; what differs are numbers, bounds and the path. A shape is that layout:
// constant bytes, and between them the varying parts. Following a shape, most of a chunk is
// compared by words instead of being interpreted field by field. Whatever does not fit (another
// field, a negative number, a path that is not the schema's) makes the chunk be walked, so that
// recognition never decides what a chunk means.
#pragma once
#include <cstring>
#include <unordered_map>
#include <vector>

#include "footer_chunk.hpp"

namespace pq {

struct Shape {
  enum class Part : u8 {
    NUMBER,      // a zigzag varint; is added to the row's cell
    BYTES,       // a length and as many bytes
    PATH,        // path_in_schema
    STATISTICS,  // no bytes: here the Statistics struct begins
    END,
  };
  struct Word {
    u64 value, mask;  // equal bytes and which of their bits count
  };
  // Constant bytes, then a varying part. Most constants fit the first word.
  struct Step {
    Word first;
    u16 num_bytes;
    u16 more_words;  // of Shape::more, consumed in order
    Part part;
    u8 column;  // of a NUMBER; ChunkTable::NOWHERE: not stored
    u64 stops;  // of a NUMBER: the high bits of the bytes that may be its last
  };
  // A column that is the same for all chunks of the shape, and not 0.
  struct Constant {
    int column;
    i64 value;
  };

  std::vector<Step> steps;
  std::vector<Word> more;
  std::vector<Constant> constants;
  u32 columns = 0;    // bits: those that are set
  u64 max_bytes = 0;  // that are read, but for the bytes of BYTES and PATH

  u64 hash() const;
  bool operator==(const Shape& other) const;
};

// Hears of a chunk's varying parts while it is walked, and makes its shape of them.
class ShapeLayout {
 public:
  void begin(u64 start);
  void varint(u64 start, u64 stop, const ThriftField& field, int column, i64 value);
  void bytes(u64 start, u64 stop) { add({start, stop, Shape::Part::BYTES, 0, 0}); }
  void path(u64 start, u64 stop) { add({start, stop, Shape::Part::PATH, 0, 0}); }
  void statistics(u64 start) { add({start, start, Shape::Part::STATISTICS, 0, 0}); }

  // False: the chunk is too long to be worth it. `row`: what was read.
  bool finish(const FooterReader& in, const i64* row, Shape& shape) const;

 private:
  struct Part {
    u64 start, stop;
    Shape::Part part;
    u8 column, max_length;
  };
  void add(const Part& part) {
    if (parts_.size() <= MAX_PARTS) parts_.push_back(part);
  }
  bool add_step(const FooterReader& in, u64 start, const Part& part, Shape& shape) const;

  static constexpr size_t MAX_PARTS = 200;
  u64 start_ = 0;
  std::vector<Part> parts_;
  std::vector<u64> small_;  // positions of ignored varints of one byte: part of the constants
};

constexpr int MAX_STEPS = 202;
constexpr u64 OVERREAD = 40;  // bytes that may be read beyond a part

// The lengths in bytes of a chunk's varying parts, by step.
struct Lengths {
  u8 of[MAX_STEPS];
  u64 hash;
};

// Follow the shape through the chunk of `leaf` at the reader's position. True: it fits; the table's
// row is filled, but for the position, and the reader stands behind the chunk. False: the row may
// hold anything.
bool follow_shape(const Shape& shape, const Schema& schema, u64 leaf, FooterReader& in,
                  ChunkTable& table, Lengths& lengths);

inline u64 load_word(const u8* bytes) {
  u64 word;
  std::memcpy(&word, bytes, sizeof word);  // little endian, as every machine that pqlab runs on
  return word;
}

inline u64 low_bytes(u64 count) { return count >= 8 ? ~0ull : (1ull << 8 * count) - 1; }

inline bool same_bytes(const u8* a, const u8* b, u64 size) {
  for (; size > 8; a += 8, b += 8, size -= 8) {
    if (load_word(a) != load_word(b)) return false;
  }
  return ((load_word(a) ^ load_word(b)) & low_bytes(size)) == 0;
}

// Behind path_in_schema if it is the leaf's; else nullptr. At least OVERREAD bytes follow `at`.
inline const u8* follow_path(const u8* at, const u8* end, const u8* footer, const Schema& schema,
                             u64 leaf) {
  const auto follow_name = [&](u32 element) {
    const ThriftSpan& name = schema.names[element];
    const u8* bytes = footer + name.start;
    const bool same = name.size < 0x80 && static_cast<u64>(end - at) >= name.size + OVERREAD &&
                      static_cast<u64>(end - bytes) >= name.size + OVERREAD && *at == name.size &&
                      same_bytes(at + 1, bytes, name.size);
    at += 1 + name.size;
    return same;
  };
  constexpr u32 MAX_DEPTH = 14;  // beyond, the list's header is longer
  u32 element = schema.leaf_elements[leaf];
  u32 depth = schema.depths[element];
  if (depth > MAX_DEPTH || *at++ != (depth << 4 | static_cast<u32>(ThriftType::BINARY))) {
    return nullptr;
  }
  if (depth == 1) return follow_name(element) ? at : nullptr;
  u32 elements[MAX_DEPTH];
  for (u32 d = depth; d-- > 0; element = schema.parents[element]) elements[d] = element;
  for (u32 d = 0; d < depth; ++d) {
    if (!follow_name(elements[d])) return nullptr;
  }
  return at;
}

// The payload bits of a zigzag varint that is not negative, without the sign bit.
constexpr u64 PAYLOAD_BITS = 0x7f7f7f7f7f7f7f7eull;

// The bits of `word` that are set in `mask` (part of PAYLOAD_BITS), side by side.
struct JoinPortable {
  u64 operator()(u64 word, u64 mask) const {
    word &= mask;
    word = (word & 0x007f007f007f007full) | (word & 0x7f007f007f007f00ull) >> 1;
    word = (word & 0x00003fff00003fffull) | (word & 0x3fff00003fff0000ull) >> 2;
    word = (word & 0x000000000fffffffull) | (word & 0x0fffffff00000000ull) >> 4;
    return word >> 1;
  }
};

#if defined(__x86_64__)
// The same by one instruction, written as such since the file is compiled for every x86-64.
struct JoinPext {
  u64 operator()(u64 word, u64 mask) const {
    u64 value;
    __asm__("pext %2, %1, %0" : "=r"(value) : "r"(word), "rm"(mask));
    return value;
  }
};
inline bool has_pext() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("bmi2");
}
#else
using JoinPext = JoinPortable;
inline bool has_pext() { return false; }
#endif

}  // namespace pq
