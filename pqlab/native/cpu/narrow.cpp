#include "narrow.hpp"

#include <sys/mman.h>

namespace pq {
namespace {

template <class To>
void convert(u8* to, const i64* from, u64 count) {
  To* out = reinterpret_cast<To*>(to);
  for (u64 i = 0; i < count; ++i) out[i] = static_cast<To>(from[i]);
}

// Narrowing keeps the low bytes, so that signed and unsigned targets are the same store.
void store(u8* to, int width, const i64* from, u64 count) {
  switch (width) {
    case 1: return convert<u8>(to, from, count);
    case 2: return convert<u16>(to, from, count);
    case 4: return convert<u32>(to, from, count);
    default: return convert<u64>(to, from, count);
  }
}

template <class From>
void load(i64* to, const u8* from, u64 count) {
  const From* in = reinterpret_cast<const From*>(from);
  for (u64 i = 0; i < count; ++i) to[i] = static_cast<i64>(in[i]);
}

void load(i64* to, const u8* from, int width, bool is_signed, u64 count) {
  switch (width + (is_signed ? 100 : 0)) {
    case 1: return load<u8>(to, from, count);
    case 2: return load<u16>(to, from, count);
    case 4: return load<u32>(to, from, count);
    case 101: return load<i8>(to, from, count);
    case 102: return load<i16>(to, from, count);
    case 104: return load<i32>(to, from, count);
    default: return load<i64>(to, from, count);
  }
}

int width_for(u64 magnitude, bool is_signed) {
  const int bits = (magnitude ? 64 - __builtin_clzll(magnitude) : 0) + (is_signed ? 1 : 0);
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

}  // namespace

OwnedBytes allocate_bytes(u64 size) {
  constexpr u64 HUGE_PAGE = 2 << 20;
  void* pointer;
  if (size < 2 * HUGE_PAGE) {
    pointer = std::malloc(size ? size : 1);
  } else {
    pointer = std::aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    if (pointer) madvise(pointer, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
  }
  if (!pointer) throw std::bad_alloc();
  return OwnedBytes(static_cast<u8*>(pointer));
}

void NarrowColumn::append(const i64* values, u64 count) {
  if (count == 0) return;
  if (size == 0) first = values[0];
  u64 differs = 0, any = 0;
  for (u64 i = 0; i < count; ++i) {
    const u64 value = static_cast<u64>(values[i]);
    differs |= value ^ static_cast<u64>(first);
    any |= value;
  }
  if (width != 0 || differs != 0) {
    // The highest bit that any value needs; of -x-1 for a negative x.
    u64 magnitude = static_cast<u64>(first ^ (first >> 63));
    const bool any_negative = (any >> 63) != 0;
    for (u64 i = 0; any_negative && i < count; ++i) {
      magnitude |= static_cast<u64>(values[i] ^ (values[i] >> 63));
    }
    if (!any_negative) magnitude |= any;
    const bool now_signed = is_signed || any_negative || first < 0;
    int now_width = width_for(magnitude, now_signed);
    // Values stored unsigned at their full width need the next one to become signed.
    if (now_signed && !is_signed && width != 0 && now_width <= width && width < 8) {
      now_width = width * 2;
    }
    if (now_width < width) now_width = width;
    if (now_width != width || now_signed != is_signed) widen(now_width, now_signed);
    store(data.get() + size * static_cast<u64>(width), width, values, count);
  }
  size += count;
}

void NarrowColumn::copy_to(i64* out) const {
  if (width == 0) {
    for (u64 i = 0; i < size; ++i) out[i] = first;
  } else {
    load(out, data.get(), width, is_signed, size);
  }
}

void NarrowColumn::widen(int new_width, bool new_signed) {
  OwnedBytes wider = allocate_bytes(capacity * static_cast<u64>(new_width));
  i64 block[512];
  for (u64 done = 0; done < size;) {
    const u64 count = size - done < 512 ? size - done : 512;
    if (width == 0) {
      for (u64 i = 0; i < count; ++i) block[i] = first;
    } else {
      load(block, data.get() + done * static_cast<u64>(width), width, is_signed, count);
    }
    store(wider.get() + done * static_cast<u64>(new_width), new_width, block, count);
    done += count;
  }
  data = std::move(wider);
  width = new_width;
  is_signed = new_signed;
}

}  // namespace pq
