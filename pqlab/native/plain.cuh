// PLAIN: values back to back. Fixed widths are copied, or converted on the way; byte arrays become
// views into the page.
#pragma once
#include "leaf.cuh"
#include "utf8.cuh"

namespace pq {

// An Arrow view: a value of up to 12 bytes stands in it, zero-padded; of a longer one its first 4
// bytes, and where it is: offset in one of the column's buffers.
struct alignas(8) View {
  u32 length;
  u32 data[3];  // the value; or prefix, buffer, offset
};
static_assert(sizeof(View) == 16, "Arrow's layout");

constexpr u32 MAX_INLINE_LENGTH = 12;

// `readable`: bytes that may be loaded from `value` on, at least `length`.
PQ_HD View make_view(const u8* value, u32 length, u64 readable, u32 buffer, u32 offset) {
  View view;
  view.length = length;
  if (length > MAX_INLINE_LENGTH) {
    view.data[0] = load<u32>(value);
    view.data[1] = buffer;
    view.data[2] = offset;
    return view;
  }
  const u64 low = load_bounded(value, readable, 0) & low_bits(length * 8);
  const u64 high = length > 8 ? load_bounded(value, readable, 8) & low_bits((length - 8) * 8) : 0;
  view.data[0] = static_cast<u32>(low);
  view.data[1] = static_cast<u32>(low >> 32);
  view.data[2] = static_cast<u32>(high);
  return view;
}

// Where the values of a page are, for views: which of the column's buffers, and how far in.
struct ViewPlace {
  u32 buffer;
  u32 offset;
};

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
struct ViewsOut {
  const u8* bytes;
  bool text;
  ViewPlace place;
  View* out;

  PQ_HD bool operator()(u64 i, const u8* value, u32 length, u64 readable) const {
    const u32 offset = place.offset + static_cast<u32>(value - bytes);
    out[i] = make_view(value, length, readable, place.buffer, offset);
    return !text || utf8_valid_up_to(value, length, readable) == length;
  }
};

// FIXED_LEN_BYTE_ARRAY to views.
template <class Group>
PQ_HD StatusWord plain_fixed_views(const Group& group, const u8* bytes, u64 size, u64 count,
                                   u32 width, ViewPlace place, View* out) {
  if (count > size / width) return status_word(Status::TRUNCATED, size / width);
  for (u64 i = group.rank(); i < count; i += group.size()) {
    const u64 at = i * width;
    out[i] =
        make_view(bytes + at, width, size - at, place.buffer, place.offset + static_cast<u32>(at));
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
  u64 bad = count;
  for (u64 i = group.rank(); i < count; i += group.size()) {
    if (!convert(bytes + i * convert.width, out[i]) && i < bad) bad = i;
  }
  bad = group.least(bad);
  return bad == count ? STATUS_OK : status_word(Status::RANGE, bad);
}

}  // namespace pq
