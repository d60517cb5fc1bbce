// The steps of leaf.hpp for AVX-512 (F, BW, CD, DQ, VL, VBMI, VBMI2); portable.hpp says what they
// do.
#pragma once
#include <immintrin.h>

#include "simd/portable.hpp"
#include "simd/utf8.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace step {

using portable_step::TILE;
using portable_step::WIDE_TILE;
constexpr u32 BEYOND = 64;

inline __m512i load512(const void* from) { return _mm512_loadu_si512(from); }

// Value i begins at bit i * width: its bits stand in one word and the one after it.
class Unpack {
 public:
  explicit Unpack(u32 width)
      : step_(width * 2),
        mask_(_mm512_set1_epi32(static_cast<int>(low_bits(width)))),
        shift_(_mm512_mullo_epi32(
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            _mm512_set1_epi32(static_cast<int>(width)))),
        word_(_mm512_srli_epi32(shift_, 5)),
        next_(_mm512_add_epi32(word_, _mm512_set1_epi32(1))) {}

  void operator()(const u8* bytes, u32* out) const {
    _mm512_storeu_si512(out, some(bytes));
    _mm512_storeu_si512(out + 16, some(bytes + step_));
  }

 private:
  __m512i some(const u8* bytes) const {
    const __m512i words = load512(bytes);
    const __m512i low = _mm512_permutexvar_epi32(word_, words);
    const __m512i high = _mm512_permutexvar_epi32(next_, words);
    return _mm512_and_si512(_mm512_shrdv_epi32(low, high, shift_), mask_);
  }

  u32 step_;  // bytes of 16 values
  __m512i mask_, shift_, word_, next_;
};

class UnpackWide {
 public:
  explicit UnpackWide(u32 width)
      : mask_(_mm512_set1_epi64(static_cast<long long>(low_bits(width)))),
        shift_(_mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                  _mm512_set1_epi64(width))),
        word_(_mm512_srli_epi64(shift_, 6)),
        next_(_mm512_add_epi64(word_, _mm512_set1_epi64(1))) {}

  void operator()(const u8* bytes, u64* out) const {
    const __m512i words = load512(bytes);
    const __m512i low = _mm512_permutexvar_epi64(word_, words);
    const __m512i high = _mm512_permutexvar_epi64(next_, words);
    _mm512_storeu_si512(out, _mm512_and_si512(_mm512_shrdv_epi64(low, high, shift_), mask_));
  }

 private:
  __m512i mask_, shift_, word_, next_;
};

// Sums of the lanes up to and with each.
inline __m512i running_sum(__m512i x, u32) {
  const __m512i zero = _mm512_setzero_si512();
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
  return _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
}
inline __m512i running_sum(__m512i x, u64) {
  const __m512i zero = _mm512_setzero_si512();
  x = _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 7));
  x = _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 6));
  return _mm512_add_epi64(x, _mm512_alignr_epi64(x, zero, 4));
}

inline __m512i same(u32 x) { return _mm512_set1_epi32(static_cast<int>(x)); }
inline __m512i same(u64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
inline __m512i add(__m512i a, __m512i b, u32) { return _mm512_add_epi32(a, b); }
inline __m512i add(__m512i a, __m512i b, u64) { return _mm512_add_epi64(a, b); }
inline __m512i last_lane(__m512i x, u32) { return _mm512_permutexvar_epi32(same(15u), x); }
inline __m512i last_lane(__m512i x, u64) { return _mm512_permutexvar_epi64(same(7ull), x); }
inline __m512i widened(const u32* from, u32) { return load512(from); }
inline __m512i widened(const u64* from, u64) { return load512(from); }
inline __m512i widened(const u32* from, u64) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

template <u32 N, class T, class V>
inline T sum(const V* values, T base, T last, T* out) {
  constexpr u32 LANES = 64 / sizeof(T);
  const __m512i bases = same(base);
  __m512i before = same(last);
#pragma GCC unroll 4
  for (u32 i = 0; i < N; i += LANES) {
    const __m512i differences = add(widened(values + i, T{}), bases, T{});
    const __m512i sums = add(running_sum(differences, T{}), before, T{});
    _mm512_storeu_si512(out + i, sums);
    before = last_lane(sums, T{});
  }
  return static_cast<T>(_mm_cvtsi128_si64(_mm512_castsi512_si128(before)));
}

template <u32 SIZE>
struct Lanes;
template <>
struct Lanes<1> {
  static __m512i expand(u64 bits, const u8* from) {
    const auto have = static_cast<__mmask64>(low_bits(popcount(bits)));
    return _mm512_maskz_expand_epi8(bits, _mm512_maskz_loadu_epi8(have, from));
  }
};
template <>
struct Lanes<2> {
  static __m512i expand(u64 bits, const u8* from) {
    const auto have = static_cast<__mmask32>(low_bits(popcount(bits)));
    return _mm512_maskz_expand_epi16(static_cast<__mmask32>(bits),
                                     _mm512_maskz_loadu_epi16(have, from));
  }
};
template <>
struct Lanes<4> {
  static __m512i expand(u64 bits, const u8* from) {
    const auto have = static_cast<__mmask16>(low_bits(popcount(bits)));
    return _mm512_maskz_expand_epi32(static_cast<__mmask16>(bits),
                                     _mm512_maskz_loadu_epi32(have, from));
  }
};
template <>
struct Lanes<8> {
  static __m512i expand(u64 bits, const u8* from) {
    const auto have = static_cast<__mmask8>(low_bits(popcount(bits)));
    return _mm512_maskz_expand_epi64(static_cast<__mmask8>(bits),
                                     _mm512_maskz_loadu_epi64(have, from));
  }
};
template <>
struct Lanes<16> {
  static __m512i expand(u64 bits, const u8* from) {
    return Lanes<8>::expand(_pdep_u64(bits, 0x55) * 3, from);
  }
};

template <class T>
inline u32 scatter(u64 bits, u32 n, const T* dense, T* out) {
  if constexpr (sizeof(T) == 12) {
    return portable_step::scatter(bits, n, dense, out);
  } else {
    constexpr u32 LANES = 64 / sizeof(T);
    const T* from = dense;
    for (u32 i = 0; i < n; i += LANES) {
      const u64 some = bits >> i & low_bits(LANES);
      const __m512i values = Lanes<sizeof(T)>::expand(some, reinterpret_cast<const u8*>(from));
      from += popcount(some);
      if (i + LANES <= n) {
        _mm512_storeu_si512(out + i, values);
      } else {
        _mm512_mask_storeu_epi8(out + i, low_bits((n - i) * sizeof(T)), values);
      }
    }
    return static_cast<u32>(from - dense);
  }
}

inline u64 spread_bits(u64 bits, u64 mask) { return _pdep_u64(bits, mask); }

template <class T>
inline void fill(T value, u64 count, T* out) {
  if constexpr (sizeof(T) == 12) {
    portable_step::fill(value, count, out);
  } else {
    __m512i many;
    if constexpr (sizeof(T) == 1) {
      many = _mm512_set1_epi8(static_cast<char>(value));
    } else if constexpr (sizeof(T) == 2) {
      many = _mm512_set1_epi16(static_cast<short>(value));
    } else if constexpr (sizeof(T) == 4) {
      many = _mm512_set1_epi32(static_cast<int>(value));
    } else if constexpr (sizeof(T) == 8) {
      many = _mm512_set1_epi64(static_cast<long long>(value));
    } else {
      many = _mm512_broadcast_i32x4(load<__m128i>(&value));
    }
    constexpr u32 LANES = 64 / sizeof(T);
    for (; count >= LANES; count -= LANES, out += LANES) _mm512_storeu_si512(out, many);
    _mm512_mask_storeu_epi8(out, low_bits(static_cast<u32>(count * sizeof(T))), many);
  }
}

struct Wide {
  static constexpr u64 WIDTH = 64;
  using Register = __m512i;
  static __m512i zero() { return _mm512_setzero_si512(); }
  static __m512i load(const u8* from) { return load512(from); }
  static bool ascii(__m512i x) { return _mm512_movepi8_mask(x) == 0; }
  static bool none(__m512i x) { return _mm512_test_epi8_mask(x, x) == 0; }
  static __m512i low_half(__m512i x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  static __m512i high_half(__m512i x) { return low_half(_mm512_srli_epi16(x, 4)); }
  static __m512i look_up(const u8* table, __m512i at) {
    const __m128i once = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(once), at);
  }
  static __m512i above(__m512i x, int limit) {
    return _mm512_subs_epu8(x, _mm512_set1_epi8(static_cast<char>(limit)));
  }
  static __m512i either(__m512i a, __m512i b) { return _mm512_or_si512(a, b); }
  static __m512i high_bits_of_either(__m512i a, __m512i b) {
    return _mm512_and_si512(either(a, b), _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  static __m512i both(__m512i a, __m512i b, __m512i c) {
    return _mm512_and_si512(_mm512_and_si512(a, b), c);
  }
  static __m512i differ(__m512i a, __m512i b) { return _mm512_xor_si512(a, b); }
};

inline bool is_utf8(const u8* bytes, u64 size, u64) { return pq::is_utf8<Wide>(bytes, size); }

inline View view(const u8* value, u32 length, u64, u32 buffer, u32 offset) {
  const bool outside = length > MAX_INLINE_LENGTH;
  const u32 shown = outside ? MAX_INLINE_LENGTH : length;
  __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>(_bzhi_u32(~0u, shown)), value);
  bytes = _mm_insert_epi32(_mm_slli_si128(bytes, 4), static_cast<int>(length), 0);
  const __m128i place = _mm_set_epi32(static_cast<int>(offset), static_cast<int>(buffer), 0, 0);
  View made;
  store(&made, _mm_mask_mov_epi32(bytes, static_cast<__mmask8>(outside * 12), place));
  return made;
}

}  // namespace step
}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
