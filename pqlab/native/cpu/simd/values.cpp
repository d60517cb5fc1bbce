// PLAIN values, and those of the encodings that are made PLAIN first.
#include "alp.cuh"
#include "byte_stream_split.cuh"
#include "convert.cuh"
#include "delta_byte_array.cuh"
#include "group.hpp"

namespace pq {
inline namespace PQ_INSTRUCTION_SET {
namespace {

template <class Convert>
StatusWord convert(const u8* bytes, u64 size, u64 count, const Convert& how, u8* out) {
  return plain_convert(GROUP, bytes, size, count, how,
                       reinterpret_cast<typename Convert::Out*>(out));
}

// Calls walk(what a value that is refused is called, what takes a value) for a kind of BYTE_ARRAY.
template <class Walk>
StatusWord with_byte_arrays(Kind kind, const u8* bytes, ViewPlace place, u8* out, Walk&& walk) {
  if (kind == Kind::DECIMAL_BYTES) {
    return walk(Status::RANGE, DecimalsOut{reinterpret_cast<Int128*>(out)});
  }
  return walk(Status::UTF8, ViewsOut<CpuThread>{GROUP, bytes, kind == Kind::TEXT, place,
                                                reinterpret_cast<View*>(out)});
}

StatusWord join_streams(ValueType type, const u8* bytes, u64 size, u64 count, u8* out) {
  // Of a width known here the inner loop has no branches.
  switch (type.width) {
    case 4: return join_byte_streams(GROUP, bytes, size, count, 4, out);
    case 8: return join_byte_streams(GROUP, bytes, size, count, 8, out);
    default: return join_byte_streams(GROUP, bytes, size, count, type.width, out);
  }
}

StatusWord scale_alp(ValueType type, const u8* bytes, u64 size, u64 count, u8* out) {
  return type.width == sizeof(float)
             ? decode_alp(GROUP, bytes, size, count, reinterpret_cast<float*>(out))
             : decode_alp(GROUP, bytes, size, count, reinterpret_cast<double*>(out));
}

// Text that stands together is UTF-8 where all of it is and no value begins within a character:
// that is quicker to see than value by value. False: look again, for the place.
bool text_at_once(const u32* lengths, const u8* bytes, u64 size, u64 count, ViewPlace place,
                  u8* out) {
  const ViewsOut<CpuThread> views{GROUP, bytes, false, place, reinterpret_cast<View*>(out)};
  bool within = false;
  u64 end = 0;
  auto use = [&](u64 i, const u8* value, u32 length, u64 readable) {
    within |= length != 0 && utf8::continuation(value[0]);
    end = static_cast<u64>(value - bytes) + length;
    return views(i, value, length, readable);
  };
  const StatusWord word = walk_lengths(GROUP, lengths, bytes, size, count, Status::UTF8, use);
  return word == STATUS_OK && !within && all_utf8(GROUP, bytes, end, size);
}

// The same of text between lengths, where no byte of these could belong to a character.
bool text_between_lengths(const u8* bytes, u64 size, u64 count, ViewPlace place, u8* out) {
  const ViewsOut<CpuThread> views{GROUP, bytes, false, place, reinterpret_cast<View*>(out)};
  u32 lengths = 0;
  u64 end = 0;
  auto use = [&](u64 i, const u8* value, u32 length, u64 readable) {
    lengths |= length;
    end = static_cast<u64>(value - bytes) + length;
    return views(i, value, length, readable);
  };
  const StatusWord word = walk_byte_arrays(GROUP, bytes, size, count, Status::UTF8, use);
  return word == STATUS_OK && (lengths & 0x80808080) == 0 && all_utf8(GROUP, bytes, end, size);
}

StatusWord decode_lengths(ValueType type, const u32* lengths, const u8* bytes, u64 size, u64 count,
                          ViewPlace place, u8* out) {
  if (type.kind == Kind::TEXT && text_at_once(lengths, bytes, size, count, place, out)) {
    return STATUS_OK;
  }
  return with_byte_arrays(type.kind, bytes, place, out, [&](Status refused, auto use) {
    return walk_lengths(GROUP, lengths, bytes, size, count, refused, use);
  });
}

StatusWord decode_plain(ValueType type, const u8* bytes, u64 size, u64 count, ViewPlace place,
                        u8* out) {
  auto* views = reinterpret_cast<View*>(out);
  switch (type.kind) {
    case Kind::BITS: return plain_bits(GROUP, bytes, size, count, out);
    case Kind::COPY:
    case Kind::FLOATING:
    case Kind::FIXED: return plain_copy(GROUP, bytes, size, count, type.width, out);
    case Kind::INT8: return convert(bytes, size, count, NarrowInteger<i8>{}, out);
    case Kind::UINT8: return convert(bytes, size, count, NarrowInteger<u8>{}, out);
    case Kind::INT16: return convert(bytes, size, count, NarrowInteger<i16>{}, out);
    case Kind::UINT16: return convert(bytes, size, count, NarrowInteger<u16>{}, out);
    case Kind::TIME_MS: return convert(bytes, size, count, TimeOfDay<i32, 86'400'000>{}, out);
    case Kind::TIME_US: return convert(bytes, size, count, TimeOfDay<i64, 86'400'000'000>{}, out);
    case Kind::TIME_NS:
      return convert(bytes, size, count, TimeOfDay<i64, 86'400'000'000'000>{}, out);
    case Kind::INT96_NS: return convert(bytes, size, count, Int96Nanoseconds{}, out);
    case Kind::INT96_US: return convert(bytes, size, count, Int96Microseconds{}, out);
    case Kind::DECIMAL_INT32: return convert(bytes, size, count, DecimalInteger<i32>{}, out);
    case Kind::DECIMAL_INT64: return convert(bytes, size, count, DecimalInteger<i64>{}, out);
    case Kind::DECIMAL_FIXED: return convert(bytes, size, count, DecimalFixed{type.width}, out);
    case Kind::TEXT:
      if (text_between_lengths(bytes, size, count, place, out)) return STATUS_OK;
      [[fallthrough]];
    case Kind::DECIMAL_BYTES:
    case Kind::BYTES:
      return with_byte_arrays(type.kind, bytes, place, out, [&](Status refused, auto use) {
        return walk_byte_arrays(GROUP, bytes, size, count, refused, use);
      });
    case Kind::FIXED_BYTES:
      return plain_fixed_views(GROUP, bytes, size, count, type.width, place, views);
    case Kind::CODES:  // decoded as TEXT
    case Kind::NOTHING: break;
  }
  return STATUS_OK;
}

StatusWord decode_entries(ValueType type, const u8* bytes, u64 size, u64 count, ViewPlace place,
                          u8* out) {
  if (type.kind != Kind::BITS) return decode_plain(type, bytes, size, count, place, out);
  if (packed_bytes(count, 1) > size) return status_word(Status::TRUNCATED, size * 8);
  for (u64 i = 0; i < count; ++i) out[i] = get_bit(bytes, i) ? 1 : 0;
  return STATUS_OK;
}

bool any_view_outside(const u8* views, u64 count) {
  u32 longest = 0;
  for (u64 i = 0; i < count; ++i) {
    const u32 length = load<u32>(views + i * sizeof(View));
    longest = length > longest ? length : longest;
  }
  return longest > MAX_INLINE_LENGTH;
}

u64 valid_up_to(const u8* bytes, u64 size, u64 readable) {
  if (all_utf8(GROUP, bytes, size, readable)) return size;
  return utf8_valid_up_to(bytes, size, readable);
}

}  // namespace

const ValueLoops VALUE_LOOPS = {decode_plain, decode_entries,   decode_lengths, join_streams,
                                scale_alp,    any_view_outside, valid_up_to};

}  // namespace PQ_INSTRUCTION_SET

}  // namespace pq
