// The CUDA vocabulary for g++: what kernels may say, on fibres. Included before them
// (`g++ -include`). What is not here is not allowed in kernels: nvcc would take it, the emulator
// could not prove it.
#pragma once
#include <type_traits>
#include <utility>

#include "../../native/config.cuh"

#ifndef PQ_EMULATOR
#error "compile with -DPQ_EMULATOR: the shared headers go by it"
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace pq::emulator {

// The line of a kernel that calls; taken by default arguments.
struct Site {
  const char* file;
  int line;
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Where threads of a block, or lanes of a warp, meet.
enum class Meeting : u32 { BARRIER, BARRIER_OR, BARRIER_COUNT, SYNCWARP, BALLOT, SHUFFLE };

dim3 thread_index();
dim3 block_index();
dim3 block_size();
dim3 grid_size();
u64 global_timer_ns();

// Waits for the threads of the block, or for the lanes of `mask`, to call the same. `lane`: whose
// value a shuffle takes; a lane outside the warp: the caller's own.
u64 meet(Meeting meeting, u32 mask, u64 value, i32 lane, Site site);

// The block's memory for one PQ_SHARED declaration.
void* shared_memory(const void* declaration, u64 size, u64 alignment, Site site);

// Before an atomic operation on memory; counts towards finding a spin.
void before_atomic(const void* address, u32 size);

enum class ParameterKind : u32 { SIGNED, UNSIGNED, FLOAT, POINTER, STRUCT };

struct Parameter {
  ParameterKind kind;
  u32 size;       // in bytes; of what a pointer points to (void: 1)
  u32 is_const;   // of what a pointer points to
  u32 alignment;  // of what a pointer points to
};

struct Kernel {
  const char* name;
  void (*call)(void (*)(), void* const*);
  void (*function)();
  u32 num_parameters;
  const Parameter* parameters;
};

void add_kernel(const Kernel& kernel);

template <class T>
constexpr Parameter parameter() {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    using Sized = std::conditional_t<std::is_void_v<Target>, char, Target>;
    return {ParameterKind::POINTER, sizeof(Sized), std::is_const_v<Target>, alignof(Sized)};
  } else {
    constexpr ParameterKind KIND = std::is_floating_point_v<T> ? ParameterKind::FLOAT
                                   : !std::is_integral_v<T>    ? ParameterKind::STRUCT
                                   : std::is_signed_v<T>       ? ParameterKind::SIGNED
                                                               : ParameterKind::UNSIGNED;
    return {KIND, sizeof(T), 0, alignof(T)};
  }
}

template <class... Arguments>
struct Exported {
  explicit Exported(const char* name, void (*function)(Arguments...)) {
    static constexpr Parameter PARAMETERS[] = {parameter<Arguments>()..., Parameter{}};
    add_kernel(
        {name, &call, reinterpret_cast<void (*)()>(function), sizeof...(Arguments), PARAMETERS});
  }

 private:
  // The arguments lie in memory that is no kernel's: not checked.
  __attribute__((no_sanitize("thread"))) static void call(void (*function)(),
                                                          void* const* arguments) {
    call_with(function, arguments, std::make_integer_sequence<u32, sizeof...(Arguments)>{});
  }
  template <u32... ORDINALS>
  __attribute__((no_sanitize("thread"))) static void call_with(
      void (*function)(), void* const* arguments, std::integer_sequence<u32, ORDINALS...>) {
    reinterpret_cast<void (*)(Arguments...)>(function)(
        *static_cast<std::remove_reference_t<Arguments>*>(arguments[ORDINALS])...);
  }
};

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) >= sizeof(From) && std::is_trivially_copyable_v<From>);
  To to{};
  __builtin_memcpy(&to, &from, sizeof(From));
  return to;
}

template <class T>
inline T bits_back(u64 bits) {
  static_assert(sizeof(T) <= sizeof(u64));
  T to;
  __builtin_memcpy(&to, &bits, sizeof(T));
  return to;
}

// A lane's own rank within its warp.
inline i32 own_lane() { return static_cast<i32>(thread_index().x & 31); }

}  // namespace pq::emulator

#define threadIdx (::pq::emulator::thread_index())
#define blockIdx (::pq::emulator::block_index())
#define blockDim (::pq::emulator::block_size())
#define gridDim (::pq::emulator::grid_size())
#define warpSize 32

// Names a kernel to the emulator; under CUDA nothing.
#define PQ_EXPORT(kernel) \
  static const ::pq::emulator::Exported PQ_EXPORT_##kernel(#kernel, &kernel);

#define PQ_SHARED(T, name, count)                          \
  T* name = static_cast<T*>(::pq::emulator::shared_memory( \
      [] {                                                 \
        static const char declaration = 0;                 \
        return static_cast<const void*>(&declaration);     \
      }(),                                                 \
      sizeof(T) * (count), alignof(T), ::pq::emulator::Site::here(__FILE__, __LINE__)))

// The device's own functions, by their own names.
using PqSite = pq::emulator::Site;

inline void __syncthreads(PqSite site = PqSite::here()) {
  pq::emulator::meet(pq::emulator::Meeting::BARRIER, ~0u, 0, 0, site);
}
inline int __syncthreads_or(int predicate, PqSite site = PqSite::here()) {
  return pq::emulator::meet(pq::emulator::Meeting::BARRIER_OR, ~0u, predicate != 0, 0, site) != 0;
}
inline int __syncthreads_count(int predicate, PqSite site = PqSite::here()) {
  return static_cast<int>(
      pq::emulator::meet(pq::emulator::Meeting::BARRIER_COUNT, ~0u, predicate != 0, 0, site));
}
inline void __syncwarp(unsigned mask = ~0u, PqSite site = PqSite::here()) {
  pq::emulator::meet(pq::emulator::Meeting::SYNCWARP, mask, 0, 0, site);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, PqSite site = PqSite::here()) {
  return static_cast<unsigned>(
      pq::emulator::meet(pq::emulator::Meeting::BALLOT, mask, predicate != 0, 0, site));
}
inline int __any_sync(unsigned mask, int predicate, PqSite site = PqSite::here()) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, PqSite site = PqSite::here()) {
  return __ballot_sync(mask, predicate == 0, site) == 0;
}

template <class T>
inline T pq_shuffle(unsigned mask, T value, int lane, PqSite site) {
  const auto bits = pq::emulator::bits_as<pq::u64>(value);
  return pq::emulator::bits_back<T>(
      pq::emulator::meet(pq::emulator::Meeting::SHUFFLE, mask, bits, lane, site));
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, PqSite site = PqSite::here()) {
  return pq_shuffle(mask, value, lane & 31, site);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, PqSite site = PqSite::here()) {
  return pq_shuffle(mask, value, pq::emulator::own_lane() - static_cast<int>(delta), site);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, PqSite site = PqSite::here()) {
  return pq_shuffle(mask, value, pq::emulator::own_lane() + static_cast<int>(delta), site);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, PqSite site = PqSite::here()) {
  return pq_shuffle(mask, value, pq::emulator::own_lane() ^ lanes, site);
}

// One fibre runs at a time, so reading and writing apart is atomic here.
template <class T, class Change>
__attribute__((no_sanitize("thread"))) inline T pq_atomic(T* address, Change change) {
  pq::emulator::before_atomic(address, sizeof(T));
  const T old = *static_cast<volatile T*>(address);
  *static_cast<volatile T*>(address) = change(old);
  return old;
}
template <class T>
inline T atomicAdd(T* address, T value) {
  return pq_atomic(address, [value](T old) { return static_cast<T>(old + value); });
}
template <class T>
inline T atomicMin(T* address, T value) {
  return pq_atomic(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
inline T atomicMax(T* address, T value) {
  return pq_atomic(address, [value](T old) { return value > old ? value : old; });
}
template <class T>
inline T atomicOr(T* address, T value) {
  return pq_atomic(address, [value](T old) { return old | value; });
}
template <class T>
inline T atomicAnd(T* address, T value) {
  return pq_atomic(address, [value](T old) { return old & value; });
}
template <class T>
inline T atomicExch(T* address, T value) {
  return pq_atomic(address, [value](T) { return value; });
}
template <class T>
inline T atomicCAS(T* address, T expected, T value) {
  return pq_atomic(address, [=](T old) { return old == expected ? value : old; });
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    out |= static_cast<unsigned>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return out;
}
template <class T>
inline T __ldg(const T* address) {
  return *address;
}
inline void __threadfence() {}
