#include "footer_shape.hpp"

#include <algorithm>

namespace pq {
namespace {

constexpr u64 ROW_GROUPS_TO_LEARN = 3;  // with fewer there is nothing to gain
constexpr u64 PROBE_EVERY = 16;
constexpr u8 FAILURES_TO_REST = 3;
constexpr u64 OVERREAD = 16;  // bytes behind a chunk that words reach into

}  // namespace

bool Shape::operator==(const Shape& other) const {
  const auto same = [](const Number& a, const Number& b) {
    return a.offset == b.offset && a.column == b.column && a.payload == b.payload;
  };
  return num_bytes == other.num_bytes && mask == other.mask &&
         std::equal(numbers.begin(), numbers.end(), other.numbers.begin(), other.numbers.end(),
                    same) &&
         std::equal(std::begin(base), std::end(base), std::begin(other.base));
}

u64 Shape::hash() const {
  u64 state = num_bytes;
  const auto mix = [&](u64 value) { state = (state ^ value) * 0x9e3779b97f4a7c15ull + 1; };
  for (const u64 word : mask) mix(word);
  for (const i64 value : base) mix(static_cast<u64>(value));
  return state ^ state >> 29;
}

// A varint may vary in its payload: continuation bits and the sign bit stay. Very long ones, and
// those of i32 fields that could leave the type, must be equal as a whole.
void ShapeLayout::varint(u64 start, u64 stop, const ThriftField& field, int column, i64 value) {
  const u64 length = stop - start;
  if (value < 0 || length > (field.type == ThriftType::I64 ? 8 : 4)) return;
  if (length == 0 || start - start_ > Shape::MAX_BYTES) return;
  parts_.push_back({start, start + 1, 0x81});
  parts_.push_back({start + 1, stop, 0x80});
  if (column == NOT_STORED) return;
  const u64 payload = 0x7f7f7f7f7f7f7f7full >> (64 - 8 * length);
  shape_.numbers.push_back({static_cast<u16>(start - start_), static_cast<u8>(column), payload});
  shape_.base[column] -= value;
}

bool ShapeLayout::finish(u64 stop, const i64* row, Shape& out) {
  const u64 num_bytes = stop - start_;
  if (num_bytes > Shape::MAX_BYTES) return false;
  shape_.num_bytes = num_bytes;
  shape_.mask.assign((num_bytes + 7) / 8, 0);
  u8 mask[Shape::MAX_BYTES];
  std::memset(mask, 0xff, num_bytes);
  for (const Part& part : parts_) {
    std::memset(mask + (part.start - start_), part.fixed_bits, part.stop - part.start);
  }
  std::memcpy(shape_.mask.data(), mask, num_bytes);
  for (int c = 0; c < CHUNK_COLUMNS; ++c) shape_.base[c] += row[c];
  shape_.base[CHUNK_POSITION] = 0;
  out = std::move(shape_);
  return true;
}

ShapePredictor::ShapePredictor(u64 num_leaves, u64 num_row_groups)
    : worthwhile_(num_row_groups >= ROW_GROUPS_TO_LEARN) {
  if (worthwhile_) leaves_.resize(num_leaves);
}

bool ShapePredictor::recognise(FooterReader& in, u64 leaf, ChunkTable& table) {
  if (!worthwhile_ || leaves_[leaf].shape == NONE) return false;
  Leaf& state = leaves_[leaf];
  const Shape& shape = shapes_[state.shape];
  const u8* chunk = in.data + in.position;
  if (in.left() < shape.num_bytes + OVERREAD || !shape.matches(chunk, in.data + state.position)) {
    if (state.failures < FAILURES_TO_REST) ++state.failures;
    balance_ = std::max(balance_ - 1, -MAX_BALANCE);
    return false;
  }
  for (int c = 0; c < CHUNK_COLUMNS; ++c) table.cell(c) = shape.base[c];
  table.cell(CHUNK_POSITION) = static_cast<i64>(in.position);
  for (const Shape::Number& number : shape.numbers) {
    table.cell(number.column) += varint_payload(load_word(chunk + number.offset), number.payload);
  }
  state.position = in.position;
  state.failures = 0;
  balance_ = std::min(balance_ + 1, MAX_BALANCE);
  in.position += shape.num_bytes;
  return true;
}

bool ShapePredictor::should_learn(u64 leaf, u64 row_group) const {
  if (!worthwhile_) return false;
  if (leaves_[leaf].failures >= FAILURES_TO_REST && row_group % PROBE_EVERY != 0) return false;
  return balance_ > 0 || leaf % PROBE_EVERY == 0;
}

void ShapePredictor::learn(u64 leaf, Shape&& shape, u64 position) {
  leaves_[leaf].position = position;
  const u64 hash = shape.hash();
  const auto range = by_hash_.equal_range(hash);
  for (auto entry = range.first; entry != range.second; ++entry) {
    if (shapes_[entry->second] == shape) {
      leaves_[leaf].shape = entry->second;
      return;
    }
  }
  if (shapes_.size() == MAX_SHAPES) return forget(leaf);
  leaves_[leaf].shape = static_cast<u32>(shapes_.size());
  by_hash_.emplace(hash, leaves_[leaf].shape);
  shapes_.push_back(std::move(shape));
}

void ShapePredictor::forget(u64 leaf) { leaves_[leaf].shape = NONE; }

}  // namespace pq
