// Runs of packed values: dictionary indices, levels, booleans, deltas; and values among nulls.
#include "delta_byte_array.cuh"
#include "dictionary.cuh"
#include "group.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace {

StatusWord decode_indices(ValueType type, const u8* bytes, u64 size, u64 count, const u8* entries,
                          u64 num_entries, u8* out) {
  return with_stride(entry_bytes(type), [&](auto example) {
    using T = decltype(example);
    return decode_dictionary(GROUP, bytes, size, count, reinterpret_cast<const T*>(entries),
                             num_entries, reinterpret_cast<T*>(out));
  });
}

void pack_bits(const u8* values, u64 count, u8* out) {
  for (u64 i = 0; i < count; ++i) {
    out[i / 8] = static_cast<u8>(out[i / 8] | (values[i] & 1) << (i & 7));
  }
}

StatusWord decode_rle_booleans(const u8* bytes, u64 size, u64 count, u8* out) {
  if (count == 0) return STATUS_OK;
  if (size < 4) return status_word(Status::TRUNCATED, 0);
  const u64 length = load<u32>(bytes);
  if (length > size - 4) return status_word(Status::TRUNCATED, 0);
  BitSink sink{out};
  return decode_hybrid(GROUP, HybridReader(bytes + 4, length, 1), count, sink);
}

void scatter(ValueType type, const u8* validity, u64 count, const u8* dense, u8* out) {
  if (type.kind == Kind::BITS) {
    u64 next = 0;
    for (u64 byte = 0; byte * 8 < count; ++byte) {
      u32 bits = 0;
      for (u32 valid = validity[byte]; valid != 0; valid &= valid - 1, ++next) {
        if (get_bit(dense, next)) bits |= valid & (~valid + 1);
      }
      out[byte] = static_cast<u8>(bits);
    }
    return;
  }
  with_stride(type.stride(), [&](auto example) {
    using T = decltype(example);
    scatter_valid(GROUP, validity, count, reinterpret_cast<const T*>(dense),
                  reinterpret_cast<T*>(out));
  });
}

StatusWord rle_validity(const u8* bytes, u64 size, u32 max_level, u64 count, u8* validity) {
  return validity_from_rle(GROUP, bytes, size, max_level, count, validity);
}

StatusWord bit_packed_validity(const u8* bytes, u64 size, u32 max_level, u64 count, u8* validity) {
  return validity_from_bit_packed(GROUP, bytes, size, max_level, count, validity);
}

StatusWord rle_levels(const u8* bytes, u64 size, u32 max_level, u64 count, Level* out) {
  return levels_from_rle(GROUP, bytes, size, max_level, count, out);
}

StatusWord bit_packed_levels(const u8* bytes, u64 size, u32 max_level, u64 count, Level* out) {
  return levels_from_bit_packed(GROUP, bytes, size, max_level, count, out);
}

StatusWord sum_deltas(u32 width, const u8* bytes, u64 size, u64 count, u8* out, u64& used) {
  return width == sizeof(u32)
             ? decode_deltas(GROUP, bytes, size, count, reinterpret_cast<u32*>(out), used)
             : decode_deltas(GROUP, bytes, size, count, reinterpret_cast<u64*>(out), used);
}

StatusWord sum_prefixes(const u32* prefixes, u32* lengths, u64 count, u64 size, u64 before,
                        u32 width, u64& total) {
  return add_prefixes(GROUP, prefixes, lengths, count, size, before, width, total);
}

void join(const u32* prefixes, const u32* lengths, u64 count, const u8* suffixes, u64 size,
          const u8* before, u64 before_size, u8* out, u64 total) {
  join_prefixes(GROUP, prefixes, lengths, count, suffixes, size, before, before_size, out, total);
}

void unpack(const u8* bytes, u64 size, u32 width, u64 count, u64* out) {
  unpack_run(GROUP, bytes, size, width, count, out);
}

StatusWord hybrid(const u8* bytes, u64 size, u32 width, u64 count, u32* out) {
  ValueSink<u32> sink{out, width};
  return decode_hybrid(GROUP, HybridReader(bytes, size, width), count, sink);
}

}  // namespace

const RunLoops RUN_LOOPS = {decode_indices,
                            pack_bits,
                            decode_rle_booleans,
                            scatter,
                            rle_validity,
                            bit_packed_validity,
                            rle_levels,
                            bit_packed_levels,
                            sum_deltas,
                            sum_prefixes,
                            join,
                            unpack,
                            hybrid};

}  // namespace PQ_INSTRUCTION_SET
}  // namespace pq
