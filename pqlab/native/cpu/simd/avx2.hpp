// The steps of leaf.hpp for AVX2 and BMI2; portable.hpp says what they do.
#pragma once
#include <immintrin.h>

#include "simd/portable.hpp"
#include "simd/utf8.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace step {

using portable_step::fill;
using portable_step::scatter;
using portable_step::TILE;
using portable_step::UnpackWide;
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
  if constexpr (sizeof(V) == sizeof(u64)) {  // just stored one by one: no wider load is quick
    return portable_step::sum<N>(values, base, last, out);
  }
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

struct Wide {
  static constexpr u64 WIDTH = 32;
  using Register = __m256i;
  static __m256i zero() { return _mm256_setzero_si256(); }
  static __m256i load(const u8* from) { return load256(from); }
  static bool ascii(__m256i x) { return _mm256_movemask_epi8(x) == 0; }
  static bool none(__m256i x) { return _mm256_testz_si256(x, x) != 0; }
  static __m256i low_half(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static __m256i high_half(__m256i x) { return low_half(_mm256_srli_epi16(x, 4)); }
  static __m256i look_up(const u8* table, __m256i at) {
    const __m128i once = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(once), at);
  }
  static __m256i above(__m256i x, int limit) {
    return _mm256_subs_epu8(x, _mm256_set1_epi8(static_cast<char>(limit)));
  }
  static __m256i either(__m256i a, __m256i b) { return _mm256_or_si256(a, b); }
  static __m256i high_bits_of_either(__m256i a, __m256i b) {
    return _mm256_and_si256(either(a, b), _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  static __m256i both(__m256i a, __m256i b, __m256i c) {
    return _mm256_and_si256(_mm256_and_si256(a, b), c);
  }
  static __m256i differ(__m256i a, __m256i b) { return _mm256_xor_si256(a, b); }
};

inline bool is_utf8(const u8* bytes, u64 size, u64) { return pq::is_utf8<Wide>(bytes, size); }

inline View view(const u8* value, u32 length, u64 readable, u32 buffer, u32 offset) {
  if (readable < 16) return portable_step::view(value, length, readable, buffer, offset);
  // From 12 - n on: n bytes of ones, then zeros.
  alignas(32) static constexpr u8 ONES[32] = {255, 255, 255, 255, 255, 255,
                                              255, 255, 255, 255, 255, 255};
  const bool outside = length > MAX_INLINE_LENGTH;
  const u32 shown = outside ? MAX_INLINE_LENGTH : length;
  const auto load128 = [](const u8* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  __m128i bytes = _mm_and_si128(load128(value), load128(ONES + 12 - shown));
  bytes = _mm_insert_epi32(_mm_slli_si128(bytes, 4), static_cast<int>(length), 0);
  const __m128i place = _mm_set_epi32(static_cast<int>(offset), static_cast<int>(buffer), 0, 0);
  const __m128i is_place = _mm_set_epi64x(outside ? -1 : 0, 0);
  bytes = _mm_blendv_epi8(bytes, place, is_place);
  View made;
  store(&made, bytes);
  return made;
}

}  // namespace step
}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
