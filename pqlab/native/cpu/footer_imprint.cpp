#include "footer_imprint.hpp"

#include <algorithm>

namespace pq {

// Words may begin anywhere: they are shifted into place.
void Imprint::Region::append(const Shape::Word& word, u64 count) {
  for (u64 i = 0; i < count; ++i, ++num_bytes) {
    if (num_bytes % 8 == 0) {
      values.push_back(0);
      masks.push_back(0);
    }
    const u64 shift = num_bytes % 8 * 8;
    values.back() |= (word.value >> 8 * i & 0xff) << shift;
    masks.back() |= (word.mask >> 8 * i & 0xff) << shift;
  }
}

Imprint::Imprint(const Shape& shape, u32 shape_id, const Lengths& lengths)
    : shape_(shape_id),
      columns_(shape.columns),
      lengths_(lengths.of, lengths.of + shape.steps.size() - 1) {
  Region* region = &before_;
  const Shape::Word* more = shape.more.data();
  for (size_t s = 0; s < shape.steps.size(); ++s) {
    const Shape::Step& step = shape.steps[s];
    region->append(step.first, std::min<u64>(8, step.num_bytes));
    for (int w = 1; w <= step.more_words; ++w) {
      region->append(*more++, std::min<u64>(8, step.num_bytes - 8ull * static_cast<u64>(w)));
    }
    if (step.part == Shape::Part::PATH) region = &behind_;
    const bool is_behind = region == &behind_;
    if (step.part == Shape::Part::STATISTICS) {
      statistics_ = static_cast<i64>(region->num_bytes);
      usable_ &= is_behind;
    } else if (step.part == Shape::Part::NUMBER) {
      const u64 length = lengths_[s];
      const u32 offset = static_cast<u32>(region->num_bytes);
      if (step.column != ChunkTable::NOWHERE) {
        numbers_.push_back({offset, static_cast<u32>(step.column * ChunkTable::STRIDE),
                            PAYLOAD_BITS & low_bytes(length)});
        usable_ &= is_behind;
      }
      // Continuation bits as they are, and the sign bit.
      const u64 high = 0x8080808080808080ull;
      region->append({high & low_bytes(length - 1), high | 1}, length);
    } else if (step.part == Shape::Part::BYTES) {
      region->append({lengths_[s] - 1u, 0xff}, 1);
      for (int i = 1; i < lengths_[s]; ++i) region->append({0, 0}, 1);
    }
  }
  usable_ &= region == &behind_;
  for (const Shape::Constant& constant : shape.constants) {
    constants_.push_back({0, static_cast<u32>(constant.column * ChunkTable::STRIDE),
                          static_cast<u64>(constant.value)});
  }
}

bool Imprint::is(u32 shape_id, const Lengths& lengths) const {
  return shape_ == shape_id && std::equal(lengths_.begin(), lengths_.end(), lengths.of);
}

template <class Join>
inline bool Imprint::match(Join join, const Schema& schema, u64 leaf, FooterReader& in,
                           ChunkTable& table) const {
  const u8* const end = in.data + in.size;
  const u8* const start = in.data + in.position;
  const u64 needed = before_.num_bytes + behind_.num_bytes + OVERREAD;
  if (in.left() < needed || !before_.matches(start)) return false;
  const u8* const at = follow_path(start + before_.num_bytes, end, in.data, schema, leaf);
  if (!at || static_cast<u64>(end - at) < needed || !behind_.matches(at)) return false;
  i64* const row = table.row(columns_);
  for (const Number& number : numbers_) {
    row[number.cell] += static_cast<i64>(join(load_word(at + number.offset), number.payload));
  }
  for (const Number& constant : constants_) row[constant.cell] = static_cast<i64>(constant.payload);
  if (statistics_ >= 0)
    row[CHUNK_STATISTICS_POSITION * ChunkTable::STRIDE] = at + statistics_ - start;
  in.position = static_cast<u64>(at - in.data) + behind_.num_bytes;
  return true;
}

bool Imprint::match(const Schema& schema, u64 leaf, FooterReader& in, ChunkTable& table) const {
  static const bool pext = has_pext();
  return pext ? match(JoinPext{}, schema, leaf, in, table)
              : match(JoinPortable{}, schema, leaf, in, table);
}

}  // namespace pq
