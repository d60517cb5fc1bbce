// DELTA_BINARY_PACKED: a first value, then differences in blocks of mini-blocks, each of which
// packs what is above its block's least difference. Numbers wrap around, so all are taken as
// unsigned.
#pragma once
#include "leaf.cuh"

namespace pq {

// The differences of one mini-block: `base` plus what is packed.
struct MiniBlock {
  u64 count;  // values, never more than were asked for
  u64 base;
  u32 width;
  const u8* bytes;
  u64 size;  // with all that follows it
};

struct DeltaReader {
  const u8* bytes;
  u64 size;
  u64 position = 0;
  u64 total = 0;  // values, as the header says
  u64 first = 0;

  PQ_HD DeltaReader(const u8* bytes_, u64 size_) : bytes(bytes_), size(size_) {}

  // Reads the header.
  PQ_HD Status open() {
    u64 block_values;
    Status status = read_number(block_values);
    if (status == Status::OK) status = read_number(mini_blocks_);
    if (status == Status::OK) status = read_number(total);
    if (status == Status::OK) status = read_zigzag(first);
    if (status != Status::OK) return status;
    if (block_values == 0 || block_values % 128 != 0) return Status::DELTA_HEADER;
    if (mini_blocks_ == 0 || block_values % mini_blocks_ != 0) return Status::DELTA_HEADER;
    mini_block_values_ = block_values / mini_blocks_;
    next_ = mini_blocks_;
    return mini_block_values_ % 32 == 0 ? Status::OK : Status::DELTA_HEADER;
  }

  // The next mini-block, cut to `wanted` values, of which there is at least one. The last one is
  // padded to its full length; the padding may be missing.
  PQ_HD Status next(u64 wanted, MiniBlock& block) {
    if (next_ == mini_blocks_) {
      const Status status = read_block_header();
      if (status != Status::OK) return status;
    }
    block.base = base_;
    block.width = widths_[next_++];
    // Also of INT32, which duckdb packs by differences of 64 bits where it is unsigned.
    if (block.width > 64) return Status::DELTA_WIDTH;
    block.count = mini_block_values_ < wanted ? mini_block_values_ : wanted;
    const u64 left = size - position;
    const u64 most = block.width == 0 ? mini_block_values_ : left * 8 / block.width;
    if (block.count > most) return Status::TRUNCATED;
    block.bytes = bytes + position;
    block.size = left;
    position += mini_block_values_ > most ? left : packed_bytes(mini_block_values_, block.width);
    return Status::OK;
  }

 private:
  PQ_HD Status read_block_header() {
    const Status status = read_zigzag(base_);
    if (status != Status::OK) return status;
    if (mini_blocks_ > size - position) return Status::TRUNCATED;
    widths_ = bytes + position;
    position += mini_blocks_;
    next_ = 0;
    return Status::OK;
  }

  PQ_HD Status read_number(u64& number) {
    number = 0;
    for (u32 shift = 0; shift < 70; shift += 7) {
      if (position >= size) return Status::TRUNCATED;
      const u8 byte = bytes[position++];
      if (shift == 63 && byte > 1) return Status::DELTA_HEADER;
      number |= static_cast<u64>(byte & 0x7f) << shift;
      if (byte < 0x80) return Status::OK;
    }
    return Status::DELTA_HEADER;
  }

  PQ_HD Status read_zigzag(u64& number) {
    const Status status = read_number(number);
    number = (number >> 1) ^ (0 - (number & 1));
    return status;
  }

  u64 mini_blocks_ = 0;  // of a block
  u64 mini_block_values_ = 0;
  u64 next_ = 0;
  u64 base_ = 0;
  const u8* widths_ = nullptr;
};

// The first `count` values. `used`: the bytes that the encoding takes, with values beyond `count`.
// The place of an error is a value's ordinal.
template <class Group, class T>
PQ_HD StatusWord decode_deltas(const Group& group, const u8* bytes, u64 size, u64 count, T* out,
                               u64& used) {
  used = 0;
  if (count == 0) return STATUS_OK;
  DeltaReader reader(bytes, size);
  Status status = reader.open();
  if (status != Status::OK) return status_word(status, 0);
  if (reader.total < count) return status_word(Status::TRUNCATED, reader.total);
  T last = static_cast<T>(reader.first);
  if (group.leader()) out[0] = last;
  MiniBlock block{};
  for (u64 at = 1; at < reader.total; at += block.count) {
    status = reader.next(reader.total - at, block);
    if (status != Status::OK) return status_word(status, at);
    if (at >= count) continue;
    const u64 n = block.count < count - at ? block.count : count - at;
    last = sum_run(group, block.bytes, block.size, block.width, n, static_cast<T>(block.base), last,
                   out + at);
  }
  used = reader.position;
  group.sync();
  return STATUS_OK;
}

}  // namespace pq
