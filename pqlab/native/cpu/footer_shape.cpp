#include "footer_shape.hpp"

#include <algorithm>

namespace pq {
namespace {

constexpr u64 HIGH_BITS = 0x8080808080808080ull;
constexpr u64 MAX_CONSTANT_BYTES = 2048;
const bool HAS_PEXT = has_pext();

}  // namespace

u64 Shape::hash() const {
  u64 state = steps.size();
  const auto mix = [&](u64 value) {
    state = (state ^ value) * 0x9e3779b97f4a7c15ull;
    state ^= state >> 29;
  };
  for (const Step& step : steps) {
    mix(step.first.value);
    mix(static_cast<u64>(step.part) << 16 | step.num_bytes);
  }
  for (const Word& word : more) mix(word.value);
  return state;
}

bool Shape::operator==(const Shape& other) const {
  const auto same_word = [](const Word& a, const Word& b) {
    return a.value == b.value && a.mask == b.mask;
  };
  const auto same_step = [&](const Step& a, const Step& b) {
    return same_word(a.first, b.first) && a.num_bytes == b.num_bytes && a.part == b.part &&
           a.column == b.column && a.stops == b.stops;
  };
  const auto same_constant = [](const Constant& a, const Constant& b) {
    return a.column == b.column && a.value == b.value;
  };
  const auto same = [](const auto& a, const auto& b, const auto& same_item) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_item);
  };
  return same(steps, other.steps, same_step) && same(more, other.more, same_word) &&
         same(constants, other.constants, same_constant);
}

void ShapeLayout::begin(u64 start) {
  start_ = start;
  parts_.clear();
  small_.clear();
}

void ShapeLayout::varint(u64 start, u64 stop, const ThriftField& field, int column, i64 value) {
  const u8 max_length = field.type == ThriftType::I32 ? 4 : 8;
  if (column == NOT_STORED && field.type != ThriftType::LIST && stop - start == 1 && value >= 0) {
    small_.push_back(start);
  } else {
    const int cell = column == NOT_STORED ? ChunkTable::NOWHERE : column;
    add({start, stop, Shape::Part::NUMBER, static_cast<u8>(cell), max_length});
  }
}

bool ShapeLayout::finish(const FooterReader& in, const i64* row, Shape& shape) const {
  if (parts_.size() > MAX_PARTS) return false;
  shape = Shape{};
  bool varies[ChunkTable::NOWHERE + 1] = {};
  varies[CHUNK_POSITION] = varies[CHUNK_STATISTICS_POSITION] = true;
  u64 at = start_;
  for (const Part& part : parts_) {
    if (!add_step(in, at, part, shape)) return false;
    at = part.stop;
    if (part.part == Shape::Part::NUMBER) varies[part.column] = true;
  }
  if (!add_step(in, at, {in.position, in.position, Shape::Part::END, 0, 0}, shape)) return false;
  for (int c = 0; c < CHUNK_COLUMNS; ++c) {
    if (!varies[c] && row[c] != 0) shape.constants.push_back({c, row[c]});
    if (varies[c] || row[c] != 0) shape.columns |= 1u << c;
  }
  return true;
}

// The constants from `start` to the part, and the part.
bool ShapeLayout::add_step(const FooterReader& in, u64 start, const Part& part,
                           Shape& shape) const {
  const u64 num_bytes = part.start - start;
  if (num_bytes > MAX_CONSTANT_BYTES) return false;
  Shape::Step step{};
  step.num_bytes = static_cast<u16>(num_bytes);
  step.part = part.part;
  step.column = part.column;
  step.stops = HIGH_BITS & low_bytes(part.max_length);
  for (u64 done = 0; done < num_bytes; done += 8) {
    const u64 count = std::min<u64>(8, num_bytes - done);
    Shape::Word word{0, low_bytes(count)};
    for (const u64 small : small_) {
      const u64 byte = small - (start + done);
      // The sign and the continuation bit stay.
      if (byte < count) word.mask &= ~(0x7eull << 8 * byte);
    }
    std::memcpy(&word.value, in.data + start + done, count);
    word.value &= word.mask;
    if (done == 0) {
      step.first = word;
    } else {
      shape.more.push_back(word);
      ++step.more_words;
    }
  }
  shape.max_bytes += num_bytes + 16;
  shape.steps.push_back(step);
  return true;
}

namespace {

template <class Join>
bool follow(Join join, const Shape& shape, const Schema& schema, u64 leaf, FooterReader& in,
            ChunkTable& table, Lengths& lengths) {
  const u8* const start = in.data + in.position;
  const u8* const end = in.data + in.size;
  if (in.left() < shape.max_bytes + OVERREAD) return false;
  const u8* const last_start = end - shape.max_bytes - OVERREAD;
  const u8* at = start;
  const Shape::Word* more = shape.more.data();
  u8* length_of = lengths.of;
  u64 hash = 0;
  i64* const row = table.row(shape.columns);
  for (const Shape::Step* step = shape.steps.data();; ++step) {
    u64 differs = (load_word(at) & step->first.mask) ^ step->first.value;
    for (int w = 1; w <= step->more_words; ++w, ++more) {
      differs |= (load_word(at + 8 * w) & more->mask) ^ more->value;
      __asm__("" : "+r"(differs));  // too short to be worth vectors
    }
    if (differs != 0) return false;
    at += step->num_bytes;
    u64 length = 0;
    switch (step->part) {
      case Shape::Part::NUMBER: {
        const u64 bytes = load_word(at);
        const u64 stops = ~bytes & step->stops;
        if (stops == 0 || (bytes & 1) != 0) return false;  // too long, or negative
        length = (static_cast<u64>(__builtin_ctzll(stops)) >> 3) + 1;
        const u64 payload = (stops ^ (stops - 1)) & PAYLOAD_BITS;
        i64& cell = row[step->column * ChunkTable::STRIDE];
        cell = static_cast<i64>(static_cast<u64>(cell) + join(bytes, payload));
        break;
      }
      case Shape::Part::BYTES:
        if (*at >= 0x80) return false;
        length = 1u + *at;
        if (at + length > last_start) return false;
        break;
      case Shape::Part::PATH: {
        const u8* const behind = follow_path(at, end, in.data, schema, leaf);
        if (!behind || behind > last_start) return false;
        at = behind;
        break;
      }
      case Shape::Part::STATISTICS:
        row[CHUNK_STATISTICS_POSITION * ChunkTable::STRIDE] = at - start;
        break;
      case Shape::Part::END:
        for (const Shape::Constant& constant : shape.constants) {
          row[constant.column * ChunkTable::STRIDE] = constant.value;
        }
        in.position = static_cast<u64>(at - in.data);
        lengths.hash = hash;
        return true;
    }
    at += length;
    *length_of++ = static_cast<u8>(length);
    hash = hash * 0x9e3779b97f4a7c15ull + length;
  }
}

}  // namespace

bool follow_shape(const Shape& shape, const Schema& schema, u64 leaf, FooterReader& in,
                  ChunkTable& table, Lengths& lengths) {
  return HAS_PEXT ? follow(JoinPext{}, shape, schema, leaf, in, table, lengths)
                  : follow(JoinPortable{}, shape, schema, leaf, in, table, lengths);
}

}  // namespace pq
