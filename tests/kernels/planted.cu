// Kernels with a bug each, and beside each the kernel that is right. The emulator must find every
// bug, and nothing in the others.
using pq::u32;
using pq::u64;
using pq::u8;

namespace {

__device__ u32 ordinal() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

extern "C" {

// A warp reads what the others write, without a barrier in between.
__global__ void missing_barrier(u32* out) {
  PQ_SHARED(u32, tile, 64);
  tile[threadIdx.x] = threadIdx.x;
  out[ordinal()] = tile[63 - threadIdx.x];
}
__global__ void with_barrier(u32* out) {
  PQ_SHARED(u32, tile, 64);
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[ordinal()] = tile[63 - threadIdx.x];
}

// Every thread writes the same word.
__global__ void race(u32* out) { out[blockIdx.x] = threadIdx.x; }
__global__ void no_race(u32* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = threadIdx.x;
}

__global__ void divergent_barrier(u32* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    out[ordinal()] = 1;
    __syncthreads();
  }
}
__global__ void convergent_barrier(u32* out) {
  if (threadIdx.x >= 32) out[ordinal()] = 1;
  __syncthreads();
}

__global__ void exit_before_barrier(u32* out) {
  if (threadIdx.x == 63) return;
  out[ordinal()] = 1;
  __syncthreads();
}
__global__ void exit_after_barrier(u32* out) {
  __syncthreads();
  if (threadIdx.x == 63) return;
  out[ordinal()] = 1;
}

// A ballot waits for all lanes, but does not order what they write.
__global__ void ballot_as_fence(u32* out) {
  PQ_SHARED(u32, tile, 64);
  tile[threadIdx.x] = threadIdx.x;
  __ballot_sync(~0u, 1);
  out[ordinal()] = tile[threadIdx.x ^ 1];
}
__global__ void syncwarp_as_fence(u32* out) {
  PQ_SHARED(u32, tile, 64);
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[ordinal()] = tile[threadIdx.x ^ 1];
}

__global__ void shared_out_of_bounds(u32* out) {
  PQ_SHARED(u32, tile, 64);
  for (u32 i = threadIdx.x; i <= 64; i += blockDim.x) tile[i] = i;
  __syncthreads();
  out[ordinal()] = tile[threadIdx.x];
}
__global__ void shared_in_bounds(u32* out) {
  PQ_SHARED(u32, tile, 64);
  for (u32 i = threadIdx.x; i < 64; i += blockDim.x) tile[i] = i;
  __syncthreads();
  out[ordinal()] = tile[threadIdx.x];
}

__global__ void global_out_of_bounds(u32* out, u64 count) {
  for (u64 i = ordinal(); i <= count; i += gridDim.x * blockDim.x) out[i] = 1;
}
__global__ void global_in_bounds(u32* out, u64 count) {
  for (u64 i = ordinal(); i < count; i += gridDim.x * blockDim.x) out[i] = 1;
}

__global__ void misaligned_load(const u8* bytes, u32* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = *reinterpret_cast<const u32*>(bytes + blockIdx.x + 1);
}
__global__ void aligned_load(const u8* bytes, u32* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = *reinterpret_cast<const u32*>(bytes + 4 * blockIdx.x);
}

__global__ void two_blocks_one_address(u32* out) {
  if (threadIdx.x == 0) out[blockIdx.x / 2] = blockIdx.x;
}
__global__ void a_block_an_address(u32* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}

__global__ void plain_histogram(const u8* bytes, u32* out) { out[bytes[ordinal()] & 3] += 1; }
__global__ void atomic_histogram(const u8* bytes, u32* out) {
  atomicAdd(&out[bytes[ordinal()] & 3], 1u);
}

__global__ void uninitialised_shared(u32* out) {
  PQ_SHARED(u32, tile, 64);
  if (threadIdx.x != 17) tile[threadIdx.x] = 0;
  __syncthreads();
  out[ordinal()] = tile[threadIdx.x];
}
__global__ void initialised_shared(u32* out) {
  PQ_SHARED(u32, tile, 64);
  tile[threadIdx.x] = 0;
  __syncthreads();
  out[ordinal()] = tile[threadIdx.x];
}

// Waits for another block, which may not run before this one ends.
__global__ void spin(u32* out) {
  if (threadIdx.x == 0) {
    atomicAdd(&out[0], 1u);
    while (atomicAdd(&out[0], 0u) < gridDim.x) {
    }
  }
}
__global__ void no_spin(u32* out) {
  if (threadIdx.x == 0) atomicAdd(&out[0], 1u);
}

// The upper half of the warp is left out of the mask, but takes part.
__global__ void wrong_mask(u32* out) { out[ordinal()] = __shfl_sync(0xffffu, threadIdx.x, 0); }
__global__ void right_mask(u32* out) { out[ordinal()] = __shfl_sync(~0u, threadIdx.x, 0); }

// Half a warp waits for the whole one.
__global__ void deadlock(u32* out) {
  if (threadIdx.x % 32 < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
  out[ordinal()] = 1;
}
__global__ void no_deadlock(u32* out) {
  __syncwarp();
  __syncthreads();
  out[ordinal()] = 1;
}

// A lane leaves a warp whose others still name it.
__global__ void ended_lane(u32* out) {
  if (threadIdx.x % 32 == 31) return;
  out[ordinal()] = __ballot_sync(~0u, 1);
}
__global__ void named_lanes(u32* out) {
  if (threadIdx.x % 32 == 31) return;
  out[ordinal()] = __ballot_sync(0x7fffffffu, 1);
}

__global__ void uninitialised_global(const u32* in, u32* out) { out[ordinal()] = in[ordinal()]; }

// Every collective, for its result.
__global__ void collectives(u32* out) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32* mine = out + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  mine[0] = __shfl_up_sync(~0u, lane, 3);
  mine[1] = __shfl_down_sync(~0u, lane, 3);
  mine[2] = __shfl_xor_sync(~0u, lane, 5);
  mine[3] = __ballot_sync(~0u, lane % 3 == 0);
  mine[4] = __any_sync(~0u, lane == 7) + 2 * __all_sync(~0u, lane < 32) + 4 * __all_sync(~0u, lane);
  mine[5] = __syncthreads_count(warp == 1);
  mine[6] = __syncthreads_or(threadIdx.x == 63);
  mine[7] = static_cast<u32>(__shfl_sync(~0u, static_cast<double>(lane) + 0.5, 9) * 2);
}

// One lane in 32 works.
__global__ void idle_lanes(u32* out, u64 count) {
  if (threadIdx.x % 32 == 0) {
    for (u64 i = 0; i < count; ++i) out[i + count * (ordinal() / 32)] = 1;
  }
}

__global__ void arguments(const u8* bytes, pq::i32 a, u64 b, double c, float* out) {
  if (threadIdx.x == 0) out[0] = static_cast<float>(bytes[0] + a + static_cast<double>(b) + c);
}

}  // extern "C"

PQ_EXPORT(missing_barrier)
PQ_EXPORT(with_barrier)
PQ_EXPORT(race)
PQ_EXPORT(no_race)
PQ_EXPORT(divergent_barrier)
PQ_EXPORT(convergent_barrier)
PQ_EXPORT(exit_before_barrier)
PQ_EXPORT(exit_after_barrier)
PQ_EXPORT(ballot_as_fence)
PQ_EXPORT(syncwarp_as_fence)
PQ_EXPORT(shared_out_of_bounds)
PQ_EXPORT(shared_in_bounds)
PQ_EXPORT(global_out_of_bounds)
PQ_EXPORT(global_in_bounds)
PQ_EXPORT(misaligned_load)
PQ_EXPORT(aligned_load)
PQ_EXPORT(two_blocks_one_address)
PQ_EXPORT(a_block_an_address)
PQ_EXPORT(plain_histogram)
PQ_EXPORT(atomic_histogram)
PQ_EXPORT(uninitialised_shared)
PQ_EXPORT(initialised_shared)
PQ_EXPORT(spin)
PQ_EXPORT(no_spin)
PQ_EXPORT(wrong_mask)
PQ_EXPORT(right_mask)
PQ_EXPORT(deadlock)
PQ_EXPORT(no_deadlock)
PQ_EXPORT(ended_lane)
PQ_EXPORT(named_lanes)
PQ_EXPORT(uninitialised_global)
PQ_EXPORT(collectives)
PQ_EXPORT(idle_lanes)
PQ_EXPORT(arguments)
