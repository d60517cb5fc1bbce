// Types and macros that g++, nvcc and NVRTC all take. NVRTC has no <cstdint>, and `uint64_t` is
// `unsigned long` to some of them, which breaks device atomics: hence our own names.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define PQ_HD __host__ __device__ __forceinline__
#define PQ_HD_CALLED __host__ __device__ __noinline__  // long, rare, or of many callers
#define PQ_CONSTANT __device__ constexpr
#else
// Never a function of its own: what one instruction set's loops are made of must not be linked into
// another's (cpu/loops.hpp).
#define PQ_HD inline __attribute__((always_inline))
#define PQ_HD_CALLED PQ_HD
#define PQ_CONSTANT constexpr
#endif

// Code of a device, be it emulated: what it forbids must be left out there, too.
#if defined(__CUDA_ARCH__) || defined(PQ_EMULATOR)
#define PQ_DEVICE_CODE
#endif

namespace pq {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "integer widths");

}  // namespace pq
