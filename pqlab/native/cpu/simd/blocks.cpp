// Compressed blocks that need no library.
#include "group.hpp"
#include "lz4.cuh"
#ifndef PQ_SERIAL
#include "snappy.hpp"
#endif
#include "snappy.cuh"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace {

StatusWord snappy(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  return snappy_decompress(GROUP, src, src_size, dst, dst_size);
}

void snappy_two(const CompressedBlock (&blocks)[2], StatusWord (&words)[2]) {
#ifdef PQ_SERIAL
  for (u32 i = 0; i < 2; ++i) {
    const CompressedBlock& block = blocks[i];
    words[i] = snappy(block.src, block.src_size, block.dst, block.dst_size);
  }
#else
  SnappyBlock parts[2];
  for (u32 i = 0; i < 2; ++i) {
    const CompressedBlock& block = blocks[i];
    parts[i] = {block.src, block.src_size, block.dst, block.dst_size};
    words[i] = snappy_length(block.src, block.src_size, block.dst_size, parts[i].at);
  }
  if (words[0] == STATUS_OK && words[1] == STATUS_OK) {
    take_snappy_elements(GROUP, parts[0], parts[1]);
  }
  for (u32 i = 0; i < 2; ++i) {
    const SnappyBlock& part = parts[i];
    if (words[i] != STATUS_OK) continue;
    words[i] = snappy_elements(GROUP, part.src, part.src_size, part.at, part.dst, part.dst_size,
                               part.done);
  }
#endif
}

StatusWord lz4(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  return lz4_decompress(GROUP, src, src_size, dst, dst_size);
}

StatusWord lz4_raw(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  return lz4_raw_decompress(GROUP, src, src_size, dst, dst_size);
}

}  // namespace

const BlockLoops BLOCK_LOOPS = {snappy, snappy_two, lz4, lz4_raw};

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
