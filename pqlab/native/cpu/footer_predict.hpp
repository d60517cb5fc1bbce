// Chunks recognised by what was learned of earlier ones.
//
// A leaf's chunk is tried by the last two imprints of the same leaf's chunks; then by their
// shape; then by the shape that a leaf of its type had last. What fails is walked, and its shape
// learned. Where shapes fail more often than not, only every 256th leaf keeps trying, so that the
// worst file costs little more than walking it.
#pragma once
#include <unordered_map>
#include <vector>

#include "footer_imprint.hpp"

namespace pq {

class ChunkPredictor {
 public:
  ChunkPredictor(const Schema& schema, bool enabled);

  // Recognise the chunk of `leaf` at the reader's position: fills the table's current row and moves
  // the reader behind the chunk. False: it has to be walked, with `learn` called if `should_learn`.
  bool recognise(FooterReader& in, u64 leaf, ChunkTable& table);
  bool should_learn(u64 leaf) const { return enabled_ && is_tried(leaf); }
  void learn(u64 leaf, Shape&& shape);

 private:
  static constexpr u32 NONE = ~0u;
  static constexpr u64 MAX_SHAPES = 1024, MAX_IMPRINTS = 4096;
  static constexpr i32 FIRST_BALANCE = 64, MIN_BALANCE = -64, MAX_BALANCE = 4096;
  static constexpr u64 PROBE_EVERY = 256;
  static constexpr u64 PREFETCH_BYTES = 1024;

  struct Leaf {
    u32 shape = NONE;
    u32 imprints[2] = {NONE, NONE};  // the last one first
    u64 lengths_hash = 0;            // of the chunk that was followed last
  };

  bool is_tried(u64 leaf) const { return balance_ > 0 || leaf % PROBE_EVERY == 0; }
  bool match_imprint(FooterReader& in, u64 leaf, ChunkTable& table);
  bool follow(u32 shape, FooterReader& in, u64 leaf, ChunkTable& table);
  u32 imprint_of(u32 shape);

  const Schema& schema_;
  const bool enabled_;
  std::vector<Leaf> leaves_;
  std::vector<Shape> shapes_;
  std::unordered_multimap<u64, u32> shapes_by_hash_;
  std::vector<Imprint> imprints_;
  std::unordered_multimap<u64, u32> imprints_by_hash_;
  Lengths lengths_;
  u32 last_of_type_[8];
  i32 balance_ = FIRST_BALANCE;  // recognised less not recognised
};

}  // namespace pq
