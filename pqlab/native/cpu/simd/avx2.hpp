// The steps of leaf.hpp for AVX2 and BMI2; portable.hpp says what they do.
#pragma once
#include <immintrin.h>

#include "simd/portable.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace step {

using portable_step::fill;
using portable_step::scatter;
using portable_step::TILE;
using portable_step::WIDE_TILE;
constexpr u32 BEYOND = 64;

inline __m256i load256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline void store256(void* to, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }

// Value i begins at bit i * width: its bits stand in one word and the one after it.
class Unpack {
 public:
  explicit Unpack(u32 width)
      : step_(width),
        mask_(_mm256_set1_epi32(static_cast<int>(low_bits(width)))),
        bit_(_mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                _mm256_set1_epi32(static_cast<int>(width)))),
        word_(_mm256_srli_epi32(bit_, 5)),
        next_(_mm256_add_epi32(word_, _mm256_set1_epi32(1))),
        right_(_mm256_and_si256(bit_, _mm256_set1_epi32(31))),
        left_(_mm256_sub_epi32(_mm256_set1_epi32(32), right_)) {}

  void operator()(const u8* bytes, u32* out) const {
    for (u32 i = 0; i < TILE; i += 8, bytes += step_) {
      const __m256i words = load256(bytes);
      const __m256i low = _mm256_srlv_epi32(_mm256_permutevar8x32_epi32(words, word_), right_);
      const __m256i high = _mm256_sllv_epi32(_mm256_permutevar8x32_epi32(words, next_), left_);
      store256(out + i, _mm256_and_si256(_mm256_or_si256(low, high), mask_));
    }
  }

 private:
  u32 step_;  // bytes of 8 values
  __m256i mask_, bit_, word_, next_, right_, left_;
};

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

// Sums of the lanes up to and with each: within the halves, then the low half's into the high.
inline __m256i running_sum(__m256i x, u32) {
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
  const __m256i low = _mm256_shuffle_epi32(_mm256_permute2x128_si256(x, x, 0x08), 0xff);
  return _mm256_add_epi32(x, low);
}
inline __m256i running_sum(__m256i x, u64) {
  x = _mm256_add_epi64(x, _mm256_slli_si256(x, 8));
  const __m256i low = _mm256_shuffle_epi32(_mm256_permute2x128_si256(x, x, 0x08), 0xee);
  return _mm256_add_epi64(x, low);
}

inline __m256i same(u32 x) { return _mm256_set1_epi32(static_cast<int>(x)); }
inline __m256i same(u64 x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
inline __m256i add(__m256i a, __m256i b, u32) { return _mm256_add_epi32(a, b); }
inline __m256i add(__m256i a, __m256i b, u64) { return _mm256_add_epi64(a, b); }
inline __m256i last_lane(__m256i x, u32) { return _mm256_permutevar8x32_epi32(x, same(7u)); }
inline __m256i last_lane(__m256i x, u64) { return _mm256_permute4x64_epi64(x, 0xff); }
inline __m256i widened(const u32* from, u32) { return load256(from); }
inline __m256i widened(const u64* from, u64) { return load256(from); }
inline __m256i widened(const u32* from, u64) {
  return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

template <u32 N, class T, class V>
inline T sum(const V* values, T base, T last, T* out) {
  constexpr u32 LANES = 32 / sizeof(T);
  const __m256i bases = same(base);
  __m256i before = same(last);
#pragma GCC unroll 4
  for (u32 i = 0; i < N; i += LANES) {
    const __m256i differences = add(widened(values + i, T{}), bases, T{});
    const __m256i sums = add(running_sum(differences, T{}), before, T{});
    store256(out + i, sums);
    before = last_lane(sums, T{});
  }
  return static_cast<T>(_mm_cvtsi128_si64(_mm256_castsi256_si128(before)));
}

inline u64 spread_bits(u64 bits, u64 mask) { return _pdep_u64(bits, mask); }

}  // namespace step
}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
