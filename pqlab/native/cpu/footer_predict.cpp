#include "footer_predict.hpp"

#include <algorithm>

namespace pq {

ChunkPredictor::ChunkPredictor(const Schema& schema, bool enabled)
    : schema_(schema), enabled_(enabled) {
  if (enabled) leaves_.resize(schema.num_leaves());
  std::fill(std::begin(last_of_type_), std::end(last_of_type_), NONE);
}

bool ChunkPredictor::recognise(FooterReader& in, u64 leaf, ChunkTable& table) {
  if (!enabled_) return false;
  const i64 position = static_cast<i64>(in.position);
  // The processor's own prefetching stops at every page.
  __builtin_prefetch(in.data + in.position + PREFETCH_BYTES);
  __builtin_prefetch(in.data + in.position + PREFETCH_BYTES + 64);
  Leaf& state = leaves_[leaf];
  if (!match_imprint(in, leaf, table)) {
    if (!is_tried(leaf)) return false;
    u32& last = last_of_type_[static_cast<size_t>(schema_.leaf_types[leaf])];
    if (state.shape != NONE && follow(state.shape, in, leaf, table)) {
      last = state.shape;
    } else if (last != NONE && last != state.shape && follow(last, in, leaf, table)) {
      state.shape = last;
    } else {
      balance_ = std::max(balance_ - 1, MIN_BALANCE);
      return false;
    }
    balance_ = std::min(balance_ + 1, MAX_BALANCE);
  }
  table.cell(CHUNK_POSITION) = position;
  return true;
}

bool ChunkPredictor::match_imprint(FooterReader& in, u64 leaf, ChunkTable& table) {
  u32* const known = leaves_[leaf].imprints;
  const auto matches = [&](u32 imprint) {
    return imprint != NONE && imprints_[imprint].match(schema_, leaf, in, table);
  };
  if (matches(known[0])) return true;
  if (!matches(known[1])) return false;
  std::swap(known[0], known[1]);
  return true;
}

bool ChunkPredictor::follow(u32 shape, FooterReader& in, u64 leaf, ChunkTable& table) {
  if (!follow_shape(shapes_[shape], schema_, leaf, in, table, lengths_)) {
    table.clear_row();
    return false;
  }
  // Lengths that come twice are likely to come again.
  Leaf& state = leaves_[leaf];
  const u64 hash = lengths_.hash + shape;
  if (hash == state.lengths_hash) {
    state.imprints[1] = state.imprints[0];
    state.imprints[0] = imprint_of(shape);
  }
  state.lengths_hash = hash;
  return true;
}

// The imprint of the chunk that was just followed.
u32 ChunkPredictor::imprint_of(u32 shape) {
  const u64 hash = lengths_.hash + shape;
  const auto range = imprints_by_hash_.equal_range(hash);
  for (auto entry = range.first; entry != range.second; ++entry) {
    if (imprints_[entry->second].is(shape, lengths_)) return entry->second;
  }
  if (imprints_.size() == MAX_IMPRINTS) return NONE;
  Imprint imprint(shapes_[shape], shape, lengths_);
  if (!imprint.usable()) return NONE;
  const u32 id = static_cast<u32>(imprints_.size());
  imprints_by_hash_.emplace(hash, id);
  imprints_.push_back(std::move(imprint));
  return id;
}

void ChunkPredictor::learn(u64 leaf, Shape&& shape) {
  u32& last = last_of_type_[static_cast<size_t>(schema_.leaf_types[leaf])];
  const u64 hash = shape.hash();
  const auto range = shapes_by_hash_.equal_range(hash);
  for (auto entry = range.first; entry != range.second; ++entry) {
    if (shapes_[entry->second] == shape) {
      leaves_[leaf].shape = last = entry->second;
      return;
    }
  }
  if (shapes_.size() == MAX_SHAPES) return;
  leaves_[leaf].shape = last = static_cast<u32>(shapes_.size());
  shapes_by_hash_.emplace(hash, last);
  shapes_.push_back(std::move(shape));
}

}  // namespace pq
