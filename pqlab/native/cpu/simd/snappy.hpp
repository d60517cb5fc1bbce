// Elements of a Snappy block, taken by one CPU thread: the overload of snappy.cuh's primitive.
//
// Literals and copies follow each other, and are short: of TPC-H's lineitem 7 bytes, in words of
// text 5. So they are copied by 16 bytes that the next element writes over, or by 64. What takes
// time is that an element must be looked at to find the next one: two blocks at once take four
// fifths of the time of one after the other. What is rare is left to the loop of snappy.cuh: the
// last bytes, and all that is wrong.
#pragma once
#include "leaf.hpp"

namespace pq {

// A block that is decompressed: where its next element is, and where that goes.
struct SnappyBlock {
  const u8* src;
  u64 src_size;
  u8* dst;
  u64 dst_size;
  u64 at = 0;
  u64 done = 0;
};

}  // namespace pq

namespace pq {
inline namespace PQ_INSTRUCTION_SET {

namespace snappy_block {

constexpr u64 STEP = 64;             // written for an element of up to that many bytes
constexpr u64 ROOM = STEP + 16;      // writable where an element begins: repeats overshoot by 15
constexpr u64 AHEAD = 1 + 4 + STEP;  // readable where an element begins

// By tag of a copy: how many bytes it has, and the upper bits of its offset where the tag holds
// them.
struct Tags {
  u16 entries[256] = {};
};
constexpr Tags make_tags() {
  Tags tags;
  for (u32 tag = 0; tag < 256; ++tag) {
    const u32 upper = tag >> 2;
    u32 entry = 0xff;  // an offset of 32 bits: as one of 0, which is wrong
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

// The elements of a block, one by one.
class Elements {
 public:
  Elements(const u8* src, u64 src_size, u64 at, u8* dst, u64 dst_size, u64 done)
      : in_(src + at),
        last_in_(src_size - at < AHEAD ? nullptr : src + src_size - AHEAD),
        out_(dst + done),
        last_out_(dst_size - done < ROOM ? nullptr : dst + dst_size - ROOM),
        dst_(dst),
        tag_(has_room() ? *in_ : 0) {}

  PQ_HD bool has_room() const { return in_ <= last_in_ && out_ <= last_out_; }
  // Where there is room. False: it is none that is taken here.
  PQ_HD bool take() { return (tag_ & 3) == 0 ? take_literal() : take_copy(); }

  const u8* in() const { return in_; }
  const u8* out() const { return out_; }

 private:
  PQ_HD bool take_literal() {
    u64 count = (tag_ >> 2) + 1;
    const u8* from = in_ + 1;
    if (__builtin_expect(count > 60, 0)) {
      const u64 extra = count - 60;
      count = (load<u32>(from) & low_bits(static_cast<u32>(extra * 8))) + 1ull;
      from += extra;
      // Room for the element after it, too.
      const i64 ahead = last_in_ - from, room = last_out_ - out_;
      if (static_cast<i64>(count) > (ahead < room ? ahead : room)) return false;
      std::memcpy(out_, from, count);
    } else {
      copy_short(from, count);
    }
    move_on(from + count, count);
    return true;
  }

  PQ_HD bool take_copy() {
    const u64 kind = tag_ & 3, entry = TAGS.entries[tag_], count = entry & 0xff;
    const u64 distance = (load<u32>(in_ + 1) & OFFSET_BYTES[kind]) | (entry & 0x700);
    if (__builtin_expect(distance > static_cast<u64>(out_ - dst_), 0)) return false;
    if (__builtin_expect(distance < count, 0)) {
      if (distance == 0) return false;
      repeat(static_cast<u32>(distance), static_cast<u32>(count), out_);
    } else {
      copy_short(out_ - distance, count);
    }
    move_on(in_ + 1 + kind, count);
    return true;
  }

  PQ_HD void copy_short(const u8* from, u64 count) {
    __builtin_expect(count > 16, 0) ? copy_step(from, out_) : copy<16>(from, out_);
  }

  PQ_HD void move_on(const u8* next, u64 count) {
    out_ += count;
    in_ = next;
    tag_ = *next;
  }

  const u8* in_;
  const u8* last_in_;
  u8* out_;
  u8* last_out_;
  u8* dst_;
  u64 tag_;
};

}  // namespace snappy_block

PQ_HD void take_snappy_elements(const CpuThread&, const u8* src, u64 src_size, u64& at, u8* dst,
                                u64 dst_size, u64& done) {
  snappy_block::Elements elements(src, src_size, at, dst, dst_size, done);
  while (elements.has_room() && elements.take()) {
  }
  at = static_cast<u64>(elements.in() - src);
  done = static_cast<u64>(elements.out() - dst);
}

// Elements of two blocks, in turns.
PQ_HD void take_snappy_elements(const CpuThread&, SnappyBlock& a, SnappyBlock& b) {
  snappy_block::Elements first(a.src, a.src_size, a.at, a.dst, a.dst_size, a.done);
  snappy_block::Elements second(b.src, b.src_size, b.at, b.dst, b.dst_size, b.done);
  while (first.has_room() && second.has_room() && first.take() && second.take()) {
  }
  a.at = static_cast<u64>(first.in() - a.src), a.done = static_cast<u64>(first.out() - a.dst);
  b.at = static_cast<u64>(second.in() - b.src), b.done = static_cast<u64>(second.out() - b.dst);
}

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
