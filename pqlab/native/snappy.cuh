// A Snappy block: its length, then literals and copies.
#pragma once
#include "leaf.cuh"

namespace pq {

// Takes elements for as long as that is quick; a CPU thread's overload does (cpu/simd/snappy.hpp).
// `at` and `done` move behind the last that was taken.
template <class Group>
PQ_HD void take_snappy_elements(const Group&, const u8*, u64, u64&, u8*, u64, u64&) {}

// The length that begins a block must be `dst_size`. `at`: behind it.
PQ_HD StatusWord snappy_length(const u8* src, u64 src_size, u64 dst_size, u64& at) {
  at = 0;
  u64 length = 0;
  for (u32 shift = 0;; shift += 7) {
    if (at == src_size || shift > 28) return status_word(Status::BLOCK, at);
    const u8 byte = src[at++];
    length |= static_cast<u64>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (length > dst_size) return status_word(Status::BLOCK_TOO_LONG, 0);
  return length < dst_size ? status_word(Status::BLOCK_TOO_SHORT, 0) : STATUS_OK;
}

// The elements from `at` on, behind the `done` bytes of those before them.
template <class Group>
PQ_HD StatusWord snappy_elements(const Group& group, const u8* src, u64 src_size, u64 at, u8* dst,
                                 u64 dst_size, u64 done) {
  for (;;) {
    take_snappy_elements(group, src, src_size, at, dst, dst_size, done);
    if (at == src_size) break;
    const u64 start = at;
    const u8 tag = src[at++];
    const u64 left = src_size - at;
    u64 count = tag >> 2;
    if ((tag & 3) == 0) {
      if (count >= 60) {
        const u64 extra = count - 59;
        if (extra > left) return status_word(Status::BLOCK, start);
        count = load_partial(src + at, extra);
        at += extra;
      }
      count += 1;
      if (count > src_size - at) return status_word(Status::BLOCK, start);
      if (count > dst_size - done) return status_word(Status::BLOCK_TOO_LONG, start);
      copy_literal(group, src + at, count, src_size - at, dst_size - done, dst + done);
      group.sync();
      at += count;
    } else {
      const u32 bytes = (tag & 3) == 3 ? 4 : tag & 3;
      if (bytes > left) return status_word(Status::BLOCK, start);
      u64 distance;
      if (bytes == 1) {
        distance = static_cast<u64>(tag >> 5) << 8 | src[at];
        count = (count & 7) + 4;
      } else {
        distance = bytes == 2 ? load<u16>(src + at) : load<u32>(src + at);
        count += 1;
      }
      at += bytes;
      if (distance == 0 || distance > done) return status_word(Status::BLOCK, start);
      if (count > dst_size - done) return status_word(Status::BLOCK_TOO_LONG, start);
      copy_match(group, distance, count, dst_size - done, dst + done);
    }
    done += count;
  }
  return done == dst_size ? STATUS_OK : status_word(Status::BLOCK_TOO_SHORT, at);
}

// Into exactly dst[0, dst_size). The place of an error is a byte position in the block.
template <class Group>
PQ_HD StatusWord snappy_decompress(const Group& group, const u8* src, u64 src_size, u8* dst,
                                   u64 dst_size) {
  u64 at;
  const StatusWord word = snappy_length(src, src_size, dst_size, at);
  if (word != STATUS_OK) return word;
  return snappy_elements(group, src, src_size, at, dst, dst_size, 0);
}

}  // namespace pq
