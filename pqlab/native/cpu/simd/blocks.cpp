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

StatusWord lz4(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  return lz4_decompress(GROUP, src, src_size, dst, dst_size);
}

StatusWord lz4_raw(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  return lz4_raw_decompress(GROUP, src, src_size, dst, dst_size);
}

}  // namespace

const BlockLoops BLOCK_LOOPS = {snappy, lz4, lz4_raw};

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
