// The loops over a page's values, levels and bytes, compiled once per instruction set (simd/): a
// table of functions for each. One table is chosen when the module is loaded, so that one build
// serves every processor.
//
// What those files share with the rest of the module must not become functions that the linker
// could take from either: PQ_HD functions are always inlined, all others stand in the namespace
// PQ_INSTRUCTION_SET or are templates over its CpuThread, and nothing of the standard library is
// used that is not C's.
#pragma once
#include <string>

#include "levels.cuh"
#include "values.hpp"

namespace pq {

// simd/values.cpp
struct ValueLoops {
  // PLAIN values into `out`, stride() bytes each; BITS: into a zeroed bitmap.
  StatusWord (*decode_plain)(ValueType type, const u8* bytes, u64 size, u64 count, ViewPlace place,
                             u8* out);

  // A dictionary page's values: as decode_plain, but a byte for each of BITS.
  StatusWord (*decode_entries)(ValueType type, const u8* bytes, u64 size, u64 count,
                               ViewPlace place, u8* out);

  // Values back to back, whose lengths are known, as decode_plain would make them.
  StatusWord (*decode_lengths)(ValueType type, const u32* lengths, const u8* bytes, u64 size,
                               u64 count, ViewPlace place, u8* out);

  // BYTE_STREAM_SPLIT or ALP values as PLAIN ones, type.width bytes each.
  StatusWord (*join_streams)(ValueType type, const u8* bytes, u64 size, u64 count, u8* out);
  StatusWord (*scale_alp)(ValueType type, const u8* bytes, u64 size, u64 count, u8* out);

  // Whether any of the views is longer than what stands in itself.
  bool (*any_view_outside)(const u8* views, u64 count);

  u64 (*utf8_valid_up_to)(const u8* bytes, u64 size, u64 readable);
};

// simd/runs.cpp
struct RunLoops {
  // Dictionary indices to entries, entry_bytes() each.
  StatusWord (*decode_indices)(ValueType type, const u8* bytes, u64 size, u64 count,
                               const u8* entries, u64 num_entries, u8* out);

  // Bytes of 0 or 1 into a zeroed bitmap.
  void (*pack_bits)(const u8* values, u64 count, u8* out);

  // Booleans in the RLE encoding, whose bytes have their length before them, into a zeroed bitmap.
  StatusWord (*decode_rle_booleans)(const u8* bytes, u64 size, u64 count, u8* out);

  // Dense values to where the validity bits are set; between them zeros.
  void (*scatter)(ValueType type, const u8* validity, u64 count, const u8* dense, u8* out);

  // As levels.cuh has them.
  StatusWord (*validity_from_rle)(const u8* bytes, u64 size, u32 max_level, u64 count,
                                  u8* validity);
  StatusWord (*validity_from_bit_packed)(const u8* bytes, u64 size, u32 max_level, u64 count,
                                         u8* validity);
  StatusWord (*levels_from_rle)(const u8* bytes, u64 size, u32 max_level, u64 count, Level* out);
  StatusWord (*levels_from_bit_packed)(const u8* bytes, u64 size, u32 max_level, u64 count,
                                       Level* out);

  // DELTA_BINARY_PACKED integers of `width` bytes, 4 or 8; `used`: the bytes that they take.
  StatusWord (*sum_deltas)(u32 width, const u8* bytes, u64 size, u64 count, u8* out, u64& used);

  // As delta_byte_array.cuh has them.
  StatusWord (*add_prefixes)(const u32* prefixes, u32* lengths, u64 count, u64 size, u64 before,
                             u32 width, u64& total);
  void (*join_prefixes)(const u32* prefixes, const u32* lengths, u64 count, const u8* suffixes,
                        u64 size, const u8* before, u64 before_size, u8* out, u64 total);

  // Packed values, and those of the hybrid, as they are: for tests.
  void (*unpack)(const u8* bytes, u64 size, u32 width, u64 count, u64* out);
  StatusWord (*decode_hybrid)(const u8* bytes, u64 size, u32 width, u64 count, u32* out);
};

struct CompressedBlock {
  const u8* src;
  u64 src_size;
  u8* dst;
  u64 dst_size;
};

// simd/blocks.cpp: into exactly `dst_size` bytes.
struct BlockLoops {
  StatusWord (*snappy)(const u8* src, u64 src_size, u8* dst, u64 dst_size);
  // Two blocks, in less time than one after the other.
  void (*snappy_two)(const CompressedBlock (&blocks)[2], StatusWord (&words)[2]);
  StatusWord (*lz4)(const u8* src, u64 src_size, u8* dst, u64 dst_size);
  StatusWord (*lz4_raw)(const u8* src, u64 src_size, u8* dst, u64 dst_size);
};

// simd/slots.cpp: planes of bits, one per entry of a nested page, in words whose last has zeros
// behind the last entry.
struct SlotLoops {
  // Set where the level is at least `level`, which is above 0.
  void (*reaching)(const Level* levels, u64 count, u32 level, u64* bits);

  // The bits of the entries that begin a slot, one after the other; gives how many are set.
  u64 (*gather_slots)(const u64* begins, const u64* bits, u64 words, u64* out);

  u64 (*count_bits)(const u64* bits, u64 words);

  // For each entry that begins a list: `first` and how many elements begin before it.
  void (*list_offsets)(const u64* lists, const u64* elements, u64 words, i64 first, i64* out);
};

struct Loops : ValueLoops, RunLoops, BlockLoops, SlotLoops {
  const char* instruction_set;
};

// The table that was chosen.
const Loops& loops();

// Chooses the table of that name, before any other thread decodes. False: it is not here.
bool choose_loops(const std::string& instruction_set);

// The table of that name, if this processor runs it; else nullptr. Tests also know "serial": the
// loops of leaf.cuh, as a GPU has them, for a group of one.
const Loops* loops_of(const std::string& instruction_set);

}  // namespace pq
