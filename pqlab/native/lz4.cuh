// LZ4: the raw block (codec LZ4_RAW), and what codec LZ4 stood for: Hadoop's framing, the frame
// format, or a raw block, told apart by their bytes.
#pragma once
#include "leaf.cuh"

namespace pq {

// A length of 15 in a token goes on in further bytes, up to one below 255.
PQ_HD bool lz4_extend(const u8* src, u64 src_size, u64& at, u64& length) {
  if (length != 15) return true;
  for (u8 byte = 255; byte == 255;) {
    if (at == src_size) return false;
    byte = src[at++];
    length += byte;
  }
  return true;
}

// One block into at most dst[done, room); matches may reach back to dst. `done` moves on. The place
// of an error is a byte position in the block.
template <class Group>
PQ_HD StatusWord lz4_block(const Group& group, const u8* src, u64 src_size, u8* dst, u64 room,
                           u64& done) {
  u64 at = 0;
  while (at < src_size) {
    const u64 start = at;
    const u8 token = src[at++];
    u64 literal = token >> 4;
    if (!lz4_extend(src, src_size, at, literal)) return status_word(Status::BLOCK, start);
    if (literal > src_size - at) return status_word(Status::BLOCK, start);
    if (literal > room - done) return status_word(Status::BLOCK_TOO_LONG, start);
    copy_literal(group, src + at, literal, src_size - at, room - done, dst + done);
    group.sync();
    at += literal;
    done += literal;
    if (at == src_size) return STATUS_OK;  // the last sequence has no match
    if (src_size - at < 2) return status_word(Status::BLOCK, start);
    const u64 distance = load<u16>(src + at);
    at += 2;
    u64 match = token & 15;
    if (!lz4_extend(src, src_size, at, match)) return status_word(Status::BLOCK, start);
    match += 4;
    if (distance == 0 || distance > done) return status_word(Status::BLOCK, start);
    if (match > room - done) return status_word(Status::BLOCK_TOO_LONG, start);
    copy_match(group, distance, match, room - done, dst + done);
    done += match;
  }
  return src_size == 0 ? STATUS_OK : status_word(Status::BLOCK, at);
}

// Into exactly dst[0, dst_size).
template <class Group>
PQ_HD StatusWord lz4_raw_decompress(const Group& group, const u8* src, u64 src_size, u8* dst,
                                    u64 dst_size) {
  u64 done = 0;
  const StatusWord word = lz4_block(group, src, src_size, dst, dst_size, done);
  if (word != STATUS_OK) return word;
  return done == dst_size ? STATUS_OK : status_word(Status::BLOCK_TOO_SHORT, src_size);
}

// Hadoop's framing: (size of the output, then blocks, each after its size, until that size is
// reached), repeated; sizes are big-endian.
template <class Group>
PQ_HD StatusWord lz4_hadoop_decompress(const Group& group, const u8* src, u64 src_size, u8* dst,
                                       u64 dst_size) {
  u64 at = 0;
  u64 done = 0;
  while (at < src_size) {
    if (src_size - at < 4) return status_word(Status::BLOCK, at);
    const u64 stop = done + load_big_endian_u32(src + at);
    if (stop > dst_size) return status_word(Status::BLOCK_TOO_LONG, at);
    at += 4;
    while (done < stop) {
      if (src_size - at < 4) return status_word(Status::BLOCK, at);
      const u64 size = load_big_endian_u32(src + at);
      at += 4;
      if (size == 0 || size > src_size - at) return status_word(Status::BLOCK, at - 4);
      u64 block_done = 0;
      const StatusWord word = lz4_block(group, src + at, size, dst + done, stop - done, block_done);
      if (word != STATUS_OK) return status_word(status_of(word), at + where_of(word));
      at += size;
      done += block_done;
    }
  }
  return done == dst_size ? STATUS_OK : status_word(Status::BLOCK_TOO_SHORT, at);
}

constexpr u32 LZ4_FRAME_MAGIC = 0x184d2204;

// One frame or more. Checksums are not looked at: pages have their own.
template <class Group>
PQ_HD StatusWord lz4_frame_decompress(const Group& group, const u8* src, u64 src_size, u8* dst,
                                      u64 dst_size) {
  u64 at = 0;
  u64 done = 0;
  while (at < src_size) {
    if (src_size - at < 7 || load<u32>(src + at) != LZ4_FRAME_MAGIC) {
      return status_word(Status::BLOCK, at);
    }
    const u8 flags = src[at + 4];
    const bool block_checksum = (flags & 16) != 0, content_checksum = (flags & 4) != 0;
    const bool independent = (flags & 32) != 0;
    if (flags >> 6 != 1 || (flags & 1) != 0) return status_word(Status::BLOCK, at + 4);
    const u64 header = (flags & 8) != 0 ? 15 : 7;  // with the content's size
    if (src_size - at < header) return status_word(Status::BLOCK, at);
    at += header;
    const u64 frame_start = done;
    for (;;) {
      if (src_size - at < 4) return status_word(Status::BLOCK, at);
      const u32 word = load<u32>(src + at);
      at += 4;
      if (word == 0) break;
      const u64 size = word & 0x7fffffff;
      if (size > src_size - at) return status_word(Status::BLOCK, at - 4);
      if ((word >> 31) != 0) {
        if (size > dst_size - done) return status_word(Status::BLOCK_TOO_LONG, at);
        copy_run(group, src + at, size, dst + done);
        group.sync();
        done += size;
      } else {
        const u64 base = independent ? done : frame_start;
        u64 block_done = done - base;
        const StatusWord status =
            lz4_block(group, src + at, size, dst + base, dst_size - base, block_done);
        if (status != STATUS_OK) return status_word(status_of(status), at + where_of(status));
        done = base + block_done;
      }
      at += size;
      if (block_checksum) at += src_size - at < 4 ? src_size - at : 4;
    }
    if (content_checksum) at += src_size - at < 4 ? src_size - at : 4;
  }
  return done == dst_size ? STATUS_OK : status_word(Status::BLOCK_TOO_SHORT, at);
}

// Codec LZ4.
template <class Group>
PQ_HD StatusWord lz4_decompress(const Group& group, const u8* src, u64 src_size, u8* dst,
                                u64 dst_size) {
  if (src_size >= 4 && load<u32>(src) == LZ4_FRAME_MAGIC) {
    const StatusWord frame = lz4_frame_decompress(group, src, src_size, dst, dst_size);
    if (frame == STATUS_OK) return frame;
  }
  if (lz4_hadoop_decompress(group, src, src_size, dst, dst_size) == STATUS_OK) return STATUS_OK;
  return lz4_raw_decompress(group, src, src_size, dst, dst_size);
}

}  // namespace pq
