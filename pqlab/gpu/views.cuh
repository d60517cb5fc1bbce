// Byte arrays to what outputs hold of them: views and decimals.
#pragma once
#include "../native/convert.cuh"
#include "../native/plain.cuh"
#include "emit.cuh"

namespace pq {

// A byte array among its page's values.
struct ByteArray {
  const u8* bytes;
  u32 start;
  u32 length;
};

// Those that a listing kernel found.
struct RecordBytes {
  __device__ static ByteArray value(const Decoded& decoded, const PageWork& work,
                                    const PageState& state, u64 rank) {
    const auto* records = reinterpret_cast<const StringRecord*>(decoded.records + work.records);
    const StringRecord record = records[rank];
    return {decoded.bytes + state.values + record.start, record.start, record.length};
  }
};

// Those of one length.
struct FixedBytes {
  __device__ static ByteArray value(const Decoded& decoded, const PageWork& work,
                                    const PageState& state, u64 rank) {
    const u64 start = rank * work.width;
    return {decoded.bytes + state.values + start, static_cast<u32>(start), work.width};
  }
};

// The first `length` of 4 bytes, at most all.
__device__ inline u32 first_bytes(u32 word, u32 length) {
  return length >= sizeof(u32) ? word : word & ((1u << 8 * length) - 1);
}

// Of a value that its page's bytes hold, from the page's first value on.
__device__ inline View view_of(const ByteArray& value, u32 buffer) {
  const u32 length = value.length;
  View view{length, {0, 0, 0}};
  if (length > MAX_INLINE_LENGTH) {
    view.data[0] = load_words<u32>(value.bytes);
    view.data[1] = buffer;
    view.data[2] = value.start;
    return view;
  }
#pragma unroll
  for (u32 i = 0; i < 3; ++i) {
    const u32 before = i * static_cast<u32>(sizeof(u32));
    if (length > before) {
      view.data[i] = first_bytes(load_words<u32>(value.bytes + before), length - before);
    }
  }
  return view;
}

__device__ inline bool is_utf8(const u8* bytes, u32 length) {
  for (u32 at = 0; at < length;) {
    const bool word = length - at >= sizeof(u32);
    if (word && (load_words<u32>(bytes + at) & 0x80808080u) == 0) {
      at += sizeof(u32);
      continue;
    }
    const u64 character = utf8::character(bytes + at, length - at);
    if (character == 0) return false;
    at += static_cast<u32>(character);
  }
  return true;
}

// `text`: each must be UTF-8. `used[page]` becomes 1 where a view points into the page.
template <class Source>
__device__ void emit_byte_arrays(const Decoded& decoded, bool text, View* out, u32* used,
                                 StatusWord* errors) {
  bool outside = false;
  emit_tile(decoded, out, errors, Status::UTF8,
            [&](const PageWork& work, const PageState& state, u64 rank, View& view) {
              const ByteArray value = Source::value(decoded, work, state, rank);
              view = view_of(value, work.view_buffer);
              outside |= value.length > MAX_INLINE_LENGTH;
              return !text || is_utf8(value.bytes, value.length);
            });
  if (outside) atomicOr(&used[decoded.tiles[blockIdx.x].page], 1u);
}

template <class Source>
__device__ void emit_decimals(const Decoded& decoded, Int128* out, StatusWord* errors) {
  emit_tile(decoded, out, errors, Status::RANGE,
            [&](const PageWork& work, const PageState& state, u64 rank, Int128& decimal) {
              const ByteArray value = Source::value(decoded, work, state, rank);
              return decimal_from_bytes(value.bytes, value.length, decimal);
            });
}

}  // namespace pq
