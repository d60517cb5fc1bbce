// Arrow views of byte arrays.
#pragma once
#include "bits.cuh"

namespace pq {

// A value of up to 12 bytes stands in its view, zero-padded; of a longer one its first 4 bytes, and
// where it is: offset in one of the column's buffers.
struct alignas(8) View {
  u32 length;
  u32 data[3];  // the value; or prefix, buffer, offset
};
static_assert(sizeof(View) == 16, "Arrow's layout");

constexpr u32 MAX_INLINE_LENGTH = 12;

// `readable`: bytes that may be loaded from `value` on, at least `length`.
template <class Group>
PQ_HD View make_view(const Group&, const u8* value, u32 length, u64 readable, u32 buffer,
                     u32 offset) {
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

}  // namespace pq
