// Levels. Of flat columns a bit is enough: a value is there where its definition level is the
// column's maximum. Nested columns keep the levels themselves.
#pragma once
#include "hybrid.cuh"

namespace pq {

// Sink: the bits of a zeroed validity bitmap.
struct ValiditySink {
  u8* validity;
  u32 max_level;
  u32 width;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    if (run.value > max_level) return status_word(Status::LEVEL, at);
    if (run.value == max_level) set_bits(group, run.count, validity, at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    if (width == 1) {
      put_bits(group, run.bytes, 0, run.count, validity, at);
      return STATUS_OK;
    }
    const u64 bad =
        put_max_levels(group, run.bytes, run.size, width, run.count, max_level, validity, at);
    return bad == run.count ? STATUS_OK : status_word(Status::LEVEL, at + bad);
  }
};

// RLE levels in bytes[0, size), without a length before them.
template <class Group>
PQ_HD StatusWord validity_from_rle(const Group& group, const u8* bytes, u64 size, u32 max_level,
                                   u64 count, u8* validity) {
  const u32 width = bit_width(max_level);
  ValiditySink sink{validity, max_level, width};
  return decode_hybrid(group, HybridReader(bytes, size, width), count, sink);
}

// Levels in the deprecated BIT_PACKED encoding; they take packed_bytes(count, width) bytes.
template <class Group>
PQ_HD StatusWord validity_from_bit_packed(const Group& group, const u8* bytes, u64 size,
                                          u32 max_level, u64 count, u8* validity) {
  const u32 width = bit_width(max_level);
  if (packed_bytes(count, width) > size) return status_word(Status::TRUNCATED, 0);
  u64 bad = count;
  for (u64 byte = group.rank(); byte * 8 < count; byte += group.size()) {
    const BitSpan span(byte, 0, count);
    u32 bits = 0;
    for (u32 i = 0; i < span.count; ++i) {
      const u32 level = unpack_one_high_first(bytes, size, width, span.start + i);
      if (level > max_level && span.start + i < bad) bad = span.start + i;
      bits |= (level == max_level ? 1u : 0u) << i;
    }
    validity[byte] = static_cast<u8>(bits);
  }
  bad = group.least(bad);
  return bad == count ? STATUS_OK : status_word(Status::LEVEL, bad);
}

// A definition or repetition level; the limit schema_depth is below its range.
using Level = u16;

// Sink: the levels themselves.
struct LevelSink {
  Level* out;
  u32 max_level;
  u32 width;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    if (run.value > max_level) return status_word(Status::LEVEL, at);
    fill_run(group, static_cast<Level>(run.value), run.count, out + at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    unpack_run(group, run.bytes, run.size, width, run.count, out + at);
    if (max_level == low_bits(width)) return STATUS_OK;  // no level is above it
    u64 bad = run.count;
    for (u64 i = group.rank(); i < run.count; i += group.size()) {
      if (out[at + i] > max_level && i < bad) bad = i;
    }
    bad = group.least(bad);
    return bad == run.count ? STATUS_OK : status_word(Status::LEVEL, at + bad);
  }
};

// As validity_from_rle, the levels themselves.
template <class Group>
PQ_HD StatusWord levels_from_rle(const Group& group, const u8* bytes, u64 size, u32 max_level,
                                 u64 count, Level* out) {
  const u32 width = bit_width(max_level);
  LevelSink sink{out, max_level, width};
  return decode_hybrid(group, HybridReader(bytes, size, width), count, sink);
}

// As validity_from_bit_packed, the levels themselves.
template <class Group>
PQ_HD StatusWord levels_from_bit_packed(const Group& group, const u8* bytes, u64 size,
                                        u32 max_level, u64 count, Level* out) {
  const u32 width = bit_width(max_level);
  if (packed_bytes(count, width) > size) return status_word(Status::TRUNCATED, 0);
  u64 bad = count;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    const u32 level = unpack_one_high_first(bytes, size, width, i);
    if (level > max_level && i < bad) bad = i;
    out[i] = static_cast<Level>(level);
  }
  bad = group.least(bad);
  return bad == count ? STATUS_OK : status_word(Status::LEVEL, bad);
}

}  // namespace pq
