// PLAIN: values back to back. Fixed widths are copied, or converted on the way; byte arrays become
// views into the page.
#pragma once
#include "leaf.cuh"
#include "utf8.cuh"
#include "view.cuh"

namespace pq {

// Byte arrays, each after its length in 4 bytes; calls use(ordinal, value, length, readable), which
// gives false for a value that it does not take.
template <class Group, class Use>
PQ_HD StatusWord walk_byte_arrays(const Group& group, const u8* bytes, u64 size, u64 count,
                                  Status refused, Use& use) {
  u64 at = 0;
  u64 bad = count;
  for (u64 i = 0; i < count; ++i) {
    if (size - at < 4) return status_word(Status::TRUNCATED, i);
    const u32 length = load<u32>(bytes + at);
    at += 4;
    if (length > size - at) return status_word(Status::VALUE_LENGTH, i);
    if (i % group.size() == group.rank() && bad == count &&
        !use(i, bytes + at, length, size - at)) {
      bad = i;
    }
    at += length;
  }
  bad = group.least(bad);
  return bad == count ? STATUS_OK : status_word(refused, bad);
}

// Use: BYTE_ARRAY to views of values that stand from `bytes` on; `text`: each must be UTF-8.
template <class Group>
struct ViewsOut {
  Group group;
  const u8* bytes;
  bool text;
  ViewPlace place;
  View* out;

  PQ_HD bool operator()(u64 i, const u8* value, u32 length, u64 readable) const {
    const u32 offset = place.offset + static_cast<u32>(value - bytes);
    out[i] = make_view(group, value, length, readable, place.buffer, offset);
    return !text || all_utf8(group, value, length, readable);
  }
};

// FIXED_LEN_BYTE_ARRAY to views.
template <class Group>
PQ_HD StatusWord plain_fixed_views(const Group& group, const u8* bytes, u64 size, u64 count,
                                   u32 width, ViewPlace place, View* out) {
  if (count > size / width) return status_word(Status::TRUNCATED, size / width);
  for (u64 i = group.rank(); i < count; i += group.size()) {
    const u64 at = i * width;
    const u32 offset = place.offset + static_cast<u32>(at);
    out[i] = make_view(group, bytes + at, width, size - at, place.buffer, offset);
  }
  return STATUS_OK;
}

// Fixed widths, as they are.
template <class Group>
PQ_HD StatusWord plain_copy(const Group& group, const u8* bytes, u64 size, u64 count, u32 width,
                            u8* out) {
  if (count > size / width) return status_word(Status::TRUNCATED, size / width);
  copy_run(group, bytes, count * width, out);
  return STATUS_OK;
}

// Booleans: bits, from the low one up.
template <class Group>
PQ_HD StatusWord plain_bits(const Group& group, const u8* bytes, u64 size, u64 count, u8* out) {
  if (packed_bytes(count, 1) > size) return status_word(Status::TRUNCATED, size * 8);
  put_bits(group, bytes, 0, count, out, 0);
  return STATUS_OK;
}

// Fixed widths, converted: convert(value, out) gives false for what the output cannot hold.
template <class Group, class Convert>
PQ_HD StatusWord plain_convert(const Group& group, const u8* bytes, u64 size, u64 count,
                               const Convert& convert, typename Convert::Out* out) {
  if (count > size / convert.width) {
    return status_word(Status::TRUNCATED, size / convert.width);
  }
  bool fits = true;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    fits &= convert(bytes + i * convert.width, out[i]);
  }
  if (!group.any(!fits)) return STATUS_OK;
  u64 bad = count;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    typename Convert::Out ignored;
    if (!convert(bytes + i * convert.width, ignored) && i < bad) bad = i;
  }
  return status_word(Status::RANGE, group.least(bad));
}

}  // namespace pq
