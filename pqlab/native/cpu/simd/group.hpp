// The Group of the instruction set that a file here is compiled for.
#pragma once
#ifdef PQ_SERIAL
#include "group.cuh"
namespace pq {
using CpuThread = SerialGroup;
}
#else
#include "leaf.hpp"
#endif

#include "loops.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {

constexpr CpuThread GROUP{};

struct Bytes12 {
  u8 bytes[12];
};
struct Bytes16 {
  u8 bytes[16];
};

// Calls use(T{}) with a type of that many bytes, which is_stride() knows.
template <class Use>
auto with_stride(u32 stride, Use&& use) {
  switch (stride) {
    case 1: return use(u8{});
    case 2: return use(u16{});
    case 4: return use(u32{});
    case 8: return use(u64{});
    case 12: return use(Bytes12{});
    default: return use(Bytes16{});
  }
}

extern const ValueLoops VALUE_LOOPS;
extern const RunLoops RUN_LOOPS;
extern const BlockLoops BLOCK_LOOPS;
extern const SlotLoops SLOT_LOOPS;

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
