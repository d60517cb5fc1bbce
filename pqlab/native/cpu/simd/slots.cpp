// Levels of nested columns as planes of bits: a bit per entry, 64 entries at a time.
#include <cstring>

#include "group.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace {

constexpr u64 WORD_BITS = 64;

// Bytes of 0 or 1 to bits: the product brings each to the top byte, at its own place.
PQ_HD u64 bits_of_flags(const u8* flags) {
  u64 bits = 0;
  for (u32 i = 0; i < WORD_BITS; i += 8) {
    bits |= (load<u64>(flags + i) * 0x0102040810204080ull >> 56) << i;
  }
  return bits;
}

PQ_HD u64 reaching_word(const Level* levels, u32 level) {
  u8 flags[WORD_BITS];
  for (u32 i = 0; i < WORD_BITS; ++i) flags[i] = levels[i] >= level ? 1 : 0;
  return bits_of_flags(flags);
}

void reaching(const Level* levels, u64 count, u32 level, u64* bits) {
  u64 at = 0;
  for (; at + WORD_BITS <= count; at += WORD_BITS) *bits++ = reaching_word(levels + at, level);
  if (at == count) return;
  Level padded[WORD_BITS] = {};
  std::memcpy(padded, levels + at, (count - at) * sizeof(Level));
  *bits = reaching_word(padded, level) & low_bits(static_cast<u32>(count - at));
}

// The bits of a word that the mask has, side by side.
PQ_HD u64 gather_bits(u64 word, u64 mask) {
#ifdef __BMI2__
  return __builtin_ia32_pext_di(word, mask);
#else
  if (mask == ~0ull) return word;
  u64 out = 0;
  for (u32 at = 0; mask != 0; mask &= mask - 1, ++at) {
    out |= (word >> __builtin_ctzll(mask) & 1) << at;
  }
  return out;
#endif
}

u64 gather_slots(const u64* begins, const u64* bits, u64 words, u64* out) {
  u64 set = 0, pending = 0;
  u32 used = 0;  // bits of `pending`
  for (u64 i = 0; i < words; ++i) {
    const u32 count = popcount(begins[i]);
    const u64 found = gather_bits(bits[i], begins[i]);
    set += popcount(found);
    pending |= found << used;
    used += count;
    if (used < WORD_BITS) continue;
    *out++ = pending;
    used -= WORD_BITS;
    pending = used == 0 ? 0 : found >> (count - used);
  }
  if (used != 0) *out = pending;
  return set;
}

u64 count_bits_of_words(const u64* bits, u64 words) {
  u64 sum = 0;
  for (u64 i = 0; i < words; ++i) sum += popcount(bits[i]);
  return sum;
}

void list_offsets(const u64* lists, const u64* elements, u64 words, i64 first, i64* out) {
  for (u64 i = 0; i < words; ++i) {
    for (u64 left = lists[i]; left != 0; left &= left - 1) {
      const u64 before = (left & (~left + 1)) - 1;
      *out++ = first + popcount(elements[i] & before);
    }
    first += popcount(elements[i]);
  }
}

}  // namespace

const SlotLoops SLOT_LOOPS = {reaching, gather_slots, count_bits_of_words, list_offsets};

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
