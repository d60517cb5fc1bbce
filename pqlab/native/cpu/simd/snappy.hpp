// Elements of a Snappy block, taken by one CPU thread: the overload of snappy.cuh's primitive.
//
// Literals and copies follow each other as no branch predictor foresees, and are short: of TPC-H's
// lineitem 7 bytes, in words of text 5. So both go the same way, from where they are to the output
// by 16 bytes that the next element writes over, or 64, and the place of the next tag hangs on the
// tag alone. What is rare is left to the loop of snappy.cuh: the last bytes, and all that is wrong.
#pragma once
#include "leaf.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {

namespace snappy_block {

constexpr u64 STEP = 64;             // written for an element of up to that many bytes
constexpr u64 ROOM = STEP + 16;      // writable where an element begins: repeats overshoot by 15
constexpr u64 AHEAD = 1 + 4 + STEP;  // readable where an element begins
constexpr u32 RARE = 0x8000;

// By tag: how many bytes an element has, and the upper bits of its offset where the tag holds them.
struct Tags {
  u16 entries[256] = {};
};
constexpr Tags make_tags() {
  Tags tags;
  for (u32 tag = 0; tag < 256; ++tag) {
    const u32 upper = tag >> 2;
    u32 entry = RARE;  // a literal whose length follows, or an offset of 32 bits
    if ((tag & 3) == 0 && upper < 60) entry = upper + 1;
    if ((tag & 3) == 1) entry = (upper & 7) + 4 + (tag >> 5 << 8);
    if ((tag & 3) == 2) entry = upper + 1;
    tags.entries[tag] = static_cast<u16>(entry);
  }
  return tags;
}
inline constexpr Tags TAGS = make_tags();
inline constexpr u32 OFFSET_BYTES[4] = {0, 0xff, 0xffff, 0};  // of what follows the tag

template <u32 BYTES>
struct Block {
  typedef u8 Type __attribute__((vector_size(BYTES), aligned(1), may_alias));
};

template <u32 BYTES>
PQ_HD void copy(const u8* from, u8* to) {
  using Type = typename Block<BYTES>::Type;
  *reinterpret_cast<Type*>(to) = *reinterpret_cast<const Type*>(from);
}

// 64 bytes, all read before any is written.
PQ_HD void copy_step(const u8* from, u8* to) {
#ifdef __AVX__
  using Type = Block<32>::Type;
#else
  using Type = Block<16>::Type;
#endif
  constexpr u32 PARTS = STEP / sizeof(Type);
  Type parts[PARTS];
  for (u32 i = 0; i < PARTS; ++i) parts[i] = reinterpret_cast<const Type*>(from)[i];
  for (u32 i = 0; i < PARTS; ++i) reinterpret_cast<Type*>(to)[i] = parts[i];
}

// What stands `distance` bytes before, less than `count`, again and again.
PQ_HD void repeat(u32 distance, u32 count, u8* out) {
  const u8* from = out - distance;
  if (distance >= 16) {
    for (u32 i = 0; i < count; i += 16) copy<16>(from + i, out + i);
  } else if (distance > 8) {
    const auto pattern = *reinterpret_cast<const Block<16>::Type*>(from);
    for (u32 i = 0; i < count; i += distance) {
      *reinterpret_cast<Block<16>::Type*>(out + i) = pattern;
    }
  } else {
    u64 pattern = load<u64>(from) & low_bits(distance * 8);
    for (u32 bits = distance * 8; bits < 64; bits *= 2) pattern |= pattern << bits;
    const u32 step = 8 / distance * distance;
    for (u32 i = 0; i < count; i += step) store(out + i, pattern);
  }
}

}  // namespace snappy_block

PQ_HD void take_snappy_elements(const CpuThread&, const u8* src, u64 src_size, u64& at, u8* dst,
                                u64 dst_size, u64& done) {
  namespace block = snappy_block;
  if (src_size - at < block::AHEAD || dst_size - done < block::ROOM) return;
  const u8* in = src + at;
  const u8* const last_in = src + src_size - block::AHEAD;
  u8* out = dst + done;
  u8* const last_out = dst + dst_size - block::ROOM;
  u32 tag = *in;
  while (in <= last_in && out <= last_out) {
    const u32 kind = tag & 3, entry = block::TAGS.entries[tag];
    if (__builtin_expect(entry == block::RARE, 0)) {
      if (kind != 0) break;
      const u32 extra = (tag >> 2) - 59;
      const u64 count = (load<u32>(in + 1) & low_bits(extra * 8)) + 1ull;
      const u8* from = in + 1 + extra;
      // Room for the element after it, too.
      const i64 ahead = last_in - from, room = last_out - out;
      if (static_cast<i64>(count) > (ahead < room ? ahead : room)) break;
      std::memcpy(out, from, count);
      out += count;
      in = from + count;
      tag = *in;
      continue;
    }
    const bool literal = kind == 0;
    const u32 count = entry & 0xff;
    const u32 distance = (load<u32>(in + 1) & block::OFFSET_BYTES[kind]) | (entry & 0x700);
    const u8* from = literal ? in + 1 : out - distance;
    const u8* next = literal ? in + 2 + (tag >> 2) : in + 1 + kind;
    asm("" : "+r"(next));  // no branch between the two
    const u32 next_tag = *next;
    if (__builtin_expect(distance < (literal ? 0 : count), 0)) {
      if (distance == 0 || distance > static_cast<u64>(out - dst)) break;
      block::repeat(distance, count, out);
    } else {
      if (__builtin_expect(distance > static_cast<u64>(out - dst), 0)) break;
      const auto first = *reinterpret_cast<const block::Block<16>::Type*>(from);
      if (__builtin_expect(count > sizeof first, 0)) block::copy_step(from, out);
      *reinterpret_cast<block::Block<16>::Type*>(out) = first;
    }
    out += count;
    in = next;
    tag = next_tag;
  }
  at = static_cast<u64>(in - src);
  done = static_cast<u64>(out - dst);
}

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
