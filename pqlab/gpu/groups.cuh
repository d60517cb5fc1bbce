// The device's Groups (native/group.cuh): a warp, whose lanes share a page's values out.
#pragma once
#include "../native/group.cuh"

namespace pq {

// All 32 lanes of the calling thread's warp, which must call everything together.
struct Warp {
  static constexpr u32 SIZE = 32;
  static constexpr u32 ALL = 0xffffffff;

  __device__ static constexpr u32 size() { return SIZE; }
  __device__ static u32 rank() { return threadIdx.x % SIZE; }
  __device__ static bool leader() { return rank() == 0; }
  __device__ static void sync() { __syncwarp(); }
  template <class T>
  __device__ static T shuffle(T value, u32 from) {
    return static_cast<T>(__shfl_sync(ALL, static_cast<Word<T>>(value), static_cast<int>(from)));
  }
  __device__ static bool any(bool predicate) { return __any_sync(ALL, predicate) != 0; }
  __device__ static u32 ballot(bool predicate) { return __ballot_sync(ALL, predicate); }
  __device__ static u64 least(u64 value) {
    for (u32 lanes = SIZE / 2; lanes != 0; lanes /= 2) {
      const u64 other = __shfl_xor_sync(ALL, value, static_cast<int>(lanes));
      value = other < value ? other : value;
    }
    return value;
  }
  // The bits that any lane has.
  __device__ static u32 bits_of_all(u32 bits) {
    for (u32 lanes = SIZE / 2; lanes != 0; lanes /= 2) {
      bits |= __shfl_xor_sync(ALL, bits, static_cast<int>(lanes));
    }
    return bits;
  }
  template <class T>
  __device__ static T exclusive_sum(T value) {
    return static_cast<T>(inclusive_sum(value) - static_cast<Word<T>>(value));
  }
  template <class T>
  __device__ static T sum(T value) {
    return static_cast<T>(__shfl_sync(ALL, inclusive_sum(value), SIZE - 1));
  }

 private:
  // What a shuffle moves: 4 bytes or 8.
  template <bool WIDE>
  struct WordOf {
    using Type = u32;
  };
  template <class T>
  using Word = typename WordOf<(sizeof(T) > sizeof(u32))>::Type;

  template <class T>
  __device__ static Word<T> inclusive_sum(T value) {
    auto sum = static_cast<Word<T>>(value);
    for (u32 lanes = 1; lanes < SIZE; lanes *= 2) {
      const Word<T> before = __shfl_up_sync(ALL, sum, lanes);
      if (rank() >= lanes) sum += before;
    }
    return sum;
  }
};

template <>
struct Warp::WordOf<true> {
  using Type = u64;
};

}  // namespace pq
