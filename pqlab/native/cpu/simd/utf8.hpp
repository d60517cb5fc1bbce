// Whether bytes are UTF-8, a register at a time: the method of Keiser and Lemire ("Validating UTF-8
// in less than one instruction per byte", 2021). Each pair of neighbouring bytes is looked up by
// three of its half-bytes; each look-up gives the faults that the half-byte allows, and a fault
// that all three allow is one. `Wide` has a register's operations.
#pragma once
#include <cstring>

#include "bits.cuh"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace utf8_faults {

constexpr u8 SHORT = 1;        // a character's first byte without the next
constexpr u8 LONG = 2;         // a continuation after ASCII
constexpr u8 OVERLONG_3 = 4;   // of three bytes, where two would do
constexpr u8 ABOVE = 8;        // above U+10FFFF
constexpr u8 SURROGATE = 16;   //
constexpr u8 OVERLONG_2 = 32;  // of two bytes, where one would do
constexpr u8 FOUR = 64;        // of four bytes, where three would do; or far above U+10FFFF
constexpr u8 TWICE = 128;      // two continuations: right where a third or fourth byte is due

// By the first byte's high half, its low half, and the second byte's high half.
alignas(16) constexpr u8 FIRST_HIGH[16] = {LONG,
                                           LONG,
                                           LONG,
                                           LONG,
                                           LONG,
                                           LONG,
                                           LONG,
                                           LONG,
                                           TWICE,
                                           TWICE,
                                           TWICE,
                                           TWICE,
                                           SHORT | OVERLONG_2,
                                           SHORT,
                                           SHORT | OVERLONG_3 | SURROGATE,
                                           SHORT | ABOVE | FOUR};
constexpr u8 ANY = SHORT | LONG | TWICE;
alignas(16) constexpr u8 FIRST_LOW[16] = {ANY | OVERLONG_3 | OVERLONG_2 | FOUR,
                                          ANY | OVERLONG_2,
                                          ANY,
                                          ANY,
                                          ANY | ABOVE,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR | SURROGATE,
                                          ANY | ABOVE | FOUR,
                                          ANY | ABOVE | FOUR};
constexpr u8 NEXT = LONG | OVERLONG_2 | TWICE;
alignas(16) constexpr u8 SECOND_HIGH[16] = {SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            NEXT | OVERLONG_3 | FOUR,
                                            NEXT | OVERLONG_3 | ABOVE,
                                            NEXT | SURROGATE | ABOVE,
                                            NEXT | SURROGATE | ABOVE,
                                            SHORT,
                                            SHORT,
                                            SHORT,
                                            SHORT};

}  // namespace utf8_faults

// Not zero where a byte is wrong after the three before it.
template <class Wide>
inline typename Wide::Register utf8_wrong(const u8* bytes) {
  const auto here = Wide::load(bytes), before = Wide::load(bytes - 1);
  const auto faults = Wide::both(Wide::look_up(utf8_faults::FIRST_HIGH, Wide::high_half(before)),
                                 Wide::look_up(utf8_faults::FIRST_LOW, Wide::low_half(before)),
                                 Wide::look_up(utf8_faults::SECOND_HIGH, Wide::high_half(here)));
  // The high bit is left where the byte is the third or fourth of a character.
  const auto third = Wide::above(Wide::load(bytes - 2), 0xe0 - 0x80);
  const auto fourth = Wide::above(Wide::load(bytes - 3), 0xf0 - 0x80);
  return Wide::differ(Wide::high_bits_of_either(third, fourth), faults);
}

// The same of `count` bytes whose surroundings cannot be read: there are 3 before them or none, and
// zeros follow.
template <class Wide>
inline typename Wide::Register utf8_wrong_copy(const u8* bytes, u64 before, u64 count) {
  u8 copy[16 + Wide::WIDTH] = {};
  if (before != 0) std::memcpy(copy + 13, bytes - 3, 3);
  if (count != 0) std::memcpy(copy + 16, bytes, count);
  return utf8_wrong<Wide>(copy + 16);
}

template <class Wide>
inline bool is_utf8(const u8* bytes, u64 size) {
  u64 at = 0;
  while (at + Wide::WIDTH <= size && Wide::ascii(Wide::load(bytes + at))) at += Wide::WIDTH;
  auto wrong = Wide::zero();
  bool open = false;  // whether a character may go on beyond the block before
  for (; at + Wide::WIDTH <= size; at += Wide::WIDTH) {
    const bool ascii = Wide::ascii(Wide::load(bytes + at));
    if (ascii && !open) continue;
    open = !ascii;
    wrong = Wide::either(wrong, at == 0 ? utf8_wrong_copy<Wide>(bytes, 0, Wide::WIDTH)
                                        : utf8_wrong<Wide>(bytes + at));
  }
  const bool ascii_to_the_end =
      !open && size >= Wide::WIDTH && Wide::ascii(Wide::load(bytes + size - Wide::WIDTH));
  if (!ascii_to_the_end) {
    wrong = Wide::either(wrong, utf8_wrong_copy<Wide>(bytes + at, at, size - at));
  }
  return Wide::none(wrong);
}

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
