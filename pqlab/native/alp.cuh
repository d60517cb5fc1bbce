// ALP: floating-point values as integers times a power of ten, in vectors of at most `vector_size`
// values; those that are no such product stand beside them as they are.
#pragma once
#include "leaf.cuh"

namespace pq {

// The nearest values to the powers of ten, as the format demands: computed ones are not.
PQ_CONSTANT float POWERS_UP_4[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                   1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
PQ_CONSTANT float POWERS_DOWN_4[] = {1e0f,  1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f,
                                     1e-6f, 1e-7f, 1e-8f, 1e-9f, 1e-10f};
PQ_CONSTANT double POWERS_UP_8[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
PQ_CONSTANT double POWERS_DOWN_8[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,
                                      1e-7,  1e-8,  1e-9,  1e-10, 1e-11, 1e-12, 1e-13,
                                      1e-14, 1e-15, 1e-16, 1e-17, 1e-18};

template <class F>
struct PowersOfTen;

template <>
struct PowersOfTen<float> {
  using Bits = u32;
  using Integer = i32;
  static constexpr u32 most = 10;

  PQ_HD static float up(u32 exponent) { return POWERS_UP_4[exponent]; }
  PQ_HD static float down(u32 exponent) { return POWERS_DOWN_4[exponent]; }
};

template <>
struct PowersOfTen<double> {
  using Bits = u64;
  using Integer = i64;
  static constexpr u32 most = 18;

  PQ_HD static double up(u32 exponent) { return POWERS_UP_8[exponent]; }
  PQ_HD static double down(u32 exponent) { return POWERS_DOWN_8[exponent]; }
};

// A packed number to the value that it stands for; the format fixes the order of multiplication.
template <class F>
struct AlpValue {
  typename PowersOfTen<F>::Bits frame_of_reference;
  F up;
  F down;

  PQ_HD F operator()(u64 packed) const {
    using Bits = typename PowersOfTen<F>::Bits;
    using Integer = typename PowersOfTen<F>::Integer;
    const Bits sum = static_cast<Bits>(frame_of_reference + static_cast<Bits>(packed));
    return static_cast<F>(static_cast<Integer>(sum)) * up * down;
  }
};

// Values of one vector, of which `count` are wanted. Gives OK, or what is wrong with it.
template <class F, class Group>
PQ_HD Status decode_alp_vector(const Group& group, const u8* bytes, u64 size, u64 vector_values,
                               u64 count, F* out) {
  using Powers = PowersOfTen<F>;
  using Bits = typename Powers::Bits;
  constexpr u64 HEADER_BYTES = 4 + sizeof(F) + 1;
  if (size < HEADER_BYTES) return Status::TRUNCATED;
  const u32 exponent = bytes[0], factor = bytes[1];
  const u64 exceptions = load<u16>(bytes + 2);
  const Bits frame_of_reference = load<Bits>(bytes + 4);
  const u32 width = bytes[4 + sizeof(F)];
  if (exponent > Powers::most || factor > exponent || width > sizeof(F) * 8) {
    return Status::ALP_VECTOR;
  }
  bytes += HEADER_BYTES;
  size -= HEADER_BYTES;
  const u64 packed = packed_bytes(vector_values, width);
  if (packed + exceptions * (sizeof(u16) + sizeof(F)) > size) return Status::TRUNCATED;
  const AlpValue<F> value{frame_of_reference, Powers::up(factor), Powers::down(exponent)};
  map_run(group, bytes, packed, width, count, value, out);
  group.sync();
  const u8* positions = bytes + packed;
  const u8* values = positions + exceptions * sizeof(u16);
  const auto position = [&](u64 i) { return load<u16>(positions + i * sizeof(u16)); };
  bool beyond = false, disordered = false;
  for (u64 i = group.rank(); i < exceptions; i += group.size()) {
    beyond |= position(i) >= vector_values;
    disordered |= i != 0 && position(i) <= position(i - 1);
  }
  // Of exceptions at one position the last counts, whoever decodes.
  const bool one_by_one = group.size() != 1 && group.any(disordered);
  const u64 first = one_by_one ? (group.leader() ? 0 : exceptions) : group.rank();
  for (u64 i = first; i < exceptions; i += one_by_one ? 1 : group.size()) {
    if (position(i) < count) out[position(i)] = load<F>(values + i * sizeof(F));
  }
  group.sync();
  return group.any(beyond) ? Status::ALP_VECTOR : Status::OK;
}

// The first `count` values of a data page's bytes[0, size).
template <class F, class Group>
PQ_HD StatusWord decode_alp(const Group& group, const u8* bytes, u64 size, u64 count, F* out) {
  constexpr u64 HEADER_BYTES = 7;
  if (count == 0) return STATUS_OK;
  if (size < HEADER_BYTES) return status_word(Status::TRUNCATED, 0);
  const u32 mode = bytes[0], integer_encoding = bytes[1], log_vector_size = bytes[2];
  if (mode != 0 || integer_encoding != 0 || log_vector_size < 3 || log_vector_size > 15) {
    return status_word(Status::ALP_HEADER, 0);
  }
  const u64 total = load<u32>(bytes + 3);
  if (total > 0x7fffffff) return status_word(Status::ALP_HEADER, 0);
  if (total < count) return status_word(Status::TRUNCATED, total);
  const u64 vector_size = 1ull << log_vector_size;
  const u64 vectors = (total + vector_size - 1) >> log_vector_size;
  const u8* offsets = bytes + HEADER_BYTES;
  size -= HEADER_BYTES;
  if (vectors * sizeof(u32) > size) return status_word(Status::TRUNCATED, 0);
  for (u64 at = 0, vector = 0; at < count; at += vector_size, ++vector) {
    const u64 offset = load<u32>(offsets + vector * sizeof(u32));
    if (offset < vectors * sizeof(u32) || offset > size) {
      return status_word(Status::ALP_HEADER, at);
    }
    const u64 values = total - at < vector_size ? total - at : vector_size;
    const u64 wanted = count - at < values ? count - at : values;
    const Status status =
        decode_alp_vector(group, offsets + offset, size - offset, values, wanted, out + at);
    if (status != Status::OK) return status_word(status, at);
  }
  return STATUS_OK;
}

}  // namespace pq
