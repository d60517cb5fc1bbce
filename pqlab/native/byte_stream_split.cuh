// BYTE_STREAM_SPLIT: the first bytes of all values, then their second bytes, and so on.
#pragma once
#include "bits.cuh"
#include "group.cuh"
#include "status.cuh"

namespace pq {

// The streams put together again, as PLAIN values of `width` bytes.
template <class Group>
PQ_HD StatusWord join_byte_streams(const Group& group, const u8* bytes, u64 size, u64 count,
                                   u32 width, u8* out) {
  const u64 stream = size / width;
  if (count > stream) return status_word(Status::TRUNCATED, stream);
  for (u64 i = group.rank(); i < count; i += group.size()) {
    for (u32 k = 0; k < width; ++k) out[i * width + k] = bytes[k * stream + i];
  }
  group.sync();
  return STATUS_OK;
}

}  // namespace pq
