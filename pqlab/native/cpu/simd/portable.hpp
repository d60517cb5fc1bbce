// The steps of leaf.hpp in plain C++. avx2.hpp and avx512.hpp have the same names; they must give
// the same bytes.
#pragma once
#include <cstring>
#include <utility>

#include "group.cuh"
#include "utf8.cuh"
#include "view.cuh"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace portable_step {

constexpr u32 TILE = 32;      // values; a tile of width w is exactly w 32-bit words
constexpr u32 WIDE_TILE = 8;  // values of more than 32 bits; a tile of width w is exactly w bytes
constexpr u32 BEYOND = 16;    // bytes after a tile that are read with it

template <u32 WIDTH>
inline void unpack(const u8* bytes, u32* out) {
  if constexpr (WIDTH == 0) {
    std::memset(out, 0, TILE * sizeof(u32));
  } else {
    u32 words[WIDTH + 1];
    std::memcpy(words, bytes, WIDTH * sizeof(u32));
    words[WIDTH] = 0;
    constexpr u32 MASK = WIDTH == 32 ? ~0u : (1u << (WIDTH % 32)) - 1;
#pragma GCC unroll 32
    for (u32 i = 0; i < TILE; ++i) {
      const u32 word = i * WIDTH / 32, shift = i * WIDTH % 32;
      const u64 pair = words[word] | static_cast<u64>(words[word + 1]) << 32;
      out[i] = static_cast<u32>(pair >> shift) & MASK;
    }
  }
}

template <class Widths>
struct UnpackTable;
template <u32... WIDTHS>
struct UnpackTable<std::integer_sequence<u32, WIDTHS...>> {
  static constexpr void (*of[])(const u8*, u32*) = {unpack<WIDTHS>...};
};

// Unpacks a tile of values of up to 32 bits.
class Unpack {
 public:
  explicit Unpack(u32 width)
      : unpack_(UnpackTable<std::make_integer_sequence<u32, 33>>::of[width]) {}
  void operator()(const u8* bytes, u32* out) const { unpack_(bytes, out); }

 private:
  void (*unpack_)(const u8*, u32*);
};

// Unpacks a wide tile, of values of up to 64 bits.
class UnpackWide {
 public:
  explicit UnpackWide(u32 width) : width_(width), mask_(low_bits(width)) {}
  void operator()(const u8* bytes, u64* out) const {
    for (u32 i = 0, bit = 0; i < WIDE_TILE; ++i, bit += width_) {
      const u32 shift = bit & 7;
      const u64 high = static_cast<u64>(bytes[bit / 8 + 8]) << 1 << (63 - shift);
      out[i] = (load<u64>(bytes + bit / 8) >> shift | high) & mask_;
    }
  }

 private:
  u32 width_;
  u64 mask_;
};

// Sums up N differences, each `base` plus a value, from `last` on; gives the last sum.
template <u32 N, class T, class V>
inline T sum(const V* values, T base, T last, T* out) {
  T differences[N];
  for (u32 i = 0; i < N; ++i) differences[i] = static_cast<T>(base + values[i]);
  for (u32 i = 0; i < N; ++i) out[i] = last = static_cast<T>(last + differences[i]);
  return last;
}

// The next of the dense values where one of the n <= 64 bits is set, else zero; gives how many.
template <class T>
inline u32 scatter(u64 bits, u32 n, const T* dense, T* out) {
  std::memset(static_cast<void*>(out), 0, n * sizeof(T));
  u32 taken = 0;
  for (u64 left = bits; left != 0; left &= left - 1) out[__builtin_ctzll(left)] = dense[taken++];
  return taken;
}

// The low bits of `bits` to where `mask` has ones.
inline u64 spread_bits(u64 bits, u64 mask) {
  u64 spread = 0;
  for (; mask != 0; mask &= mask - 1, bits >>= 1) {
    if ((bits & 1) != 0) spread |= mask & (~mask + 1);
  }
  return spread;
}

// `count` times the same value.
template <class T>
inline void fill(T value, u64 count, T* out) {
  for (u64 i = 0; i < count; ++i) out[i] = value;
}

inline bool is_utf8(const u8* bytes, u64 size, u64 readable) {
  return utf8_valid_up_to(bytes, size, readable) == size;
}

inline View view(const u8* value, u32 length, u64 readable, u32 buffer, u32 offset) {
  return make_view(SerialGroup{}, value, length, readable, buffer, offset);
}

}  // namespace portable_step
}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
