#include "values.hpp"

#include <array>
#include <utility>

#include "alp.cuh"
#include "byte_stream_split.cuh"
#include "convert.cuh"
#include "delta_byte_array.cuh"
#include "dictionary.cuh"
#include "error.hpp"
#include "leaf.hpp"

namespace pq {
namespace {

constexpr CpuThread GROUP{};

struct Bytes12 {
  u8 bytes[12];
};
struct Bytes16 {
  u8 bytes[16];
};

// Calls use(T{}) with a type of that many bytes.
template <class Use>
auto with_stride(u32 stride, Use&& use) {
  switch (stride) {
    case 1: return use(u8{});
    case 2: return use(u16{});
    case 4: return use(u32{});
    case 8: return use(u64{});
    case 12: return use(Bytes12{});
    case 16: return use(Bytes16{});
    default: throw Error(ErrorKind::Unsupported, "values of " + std::to_string(stride) + " bytes");
  }
}

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
  return walk(Status::UTF8,
              ViewsOut{bytes, kind == Kind::TEXT, place, reinterpret_cast<View*>(out)});
}

constexpr std::array<std::pair<const char*, Kind>, 21> NAMES = {{
    {"BITS", Kind::BITS},
    {"COPY", Kind::COPY},
    {"FLOATING", Kind::FLOATING},
    {"FIXED", Kind::FIXED},
    {"INT8", Kind::INT8},
    {"UINT8", Kind::UINT8},
    {"INT16", Kind::INT16},
    {"UINT16", Kind::UINT16},
    {"TIME_MS", Kind::TIME_MS},
    {"TIME_US", Kind::TIME_US},
    {"TIME_NS", Kind::TIME_NS},
    {"INT96_NS", Kind::INT96_NS},
    {"INT96_US", Kind::INT96_US},
    {"DECIMAL_INT32", Kind::DECIMAL_INT32},
    {"DECIMAL_INT64", Kind::DECIMAL_INT64},
    {"DECIMAL_FIXED", Kind::DECIMAL_FIXED},
    {"DECIMAL_BYTES", Kind::DECIMAL_BYTES},
    {"BYTES", Kind::BYTES},
    {"TEXT", Kind::TEXT},
    {"FIXED_BYTES", Kind::FIXED_BYTES},
    {"NOTHING", Kind::NOTHING},
}};

}  // namespace

Kind kind_of(const std::string& name) {
  for (const auto& [known, kind] : NAMES) {
    if (name == known) return kind;
  }
  throw Error(ErrorKind::Unsupported, "no kind of values is called " + name);
}

u32 ValueType::stride() const {
  switch (kind) {
    case Kind::BITS:
    case Kind::NOTHING: return 0;
    case Kind::COPY:
    case Kind::FLOATING:
    case Kind::FIXED:
    case Kind::TIME_MS:
    case Kind::TIME_US:
    case Kind::TIME_NS: return width;
    case Kind::INT8:
    case Kind::UINT8: return 1;
    case Kind::INT16:
    case Kind::UINT16: return 2;
    case Kind::INT96_NS:
    case Kind::INT96_US: return 8;
    default: return 16;  // decimals and views
  }
}

u64 max_plain_values(ValueType type, u64 size) {
  if (type.kind == Kind::NOTHING) return ~0ull;  // no memory is taken
  if (type.kind == Kind::BITS) return size * 8;
  return size / (type.width != 0 ? type.width : sizeof(u32));  // a byte array's length, at least
}

bool is_integer(Kind kind) {
  switch (kind) {
    case Kind::COPY:
    case Kind::INT8:
    case Kind::UINT8:
    case Kind::INT16:
    case Kind::UINT16:
    case Kind::TIME_MS:
    case Kind::TIME_US:
    case Kind::TIME_NS:
    case Kind::DECIMAL_INT32:
    case Kind::DECIMAL_INT64: return true;
    default: return false;
  }
}

bool is_fixed(Kind kind) {
  return kind == Kind::FIXED || kind == Kind::DECIMAL_FIXED || kind == Kind::FIXED_BYTES;
}

bool is_byte_array(Kind kind) {
  return kind == Kind::DECIMAL_BYTES || kind == Kind::BYTES || kind == Kind::TEXT;
}

StatusWord join_streams(ValueType type, const u8* bytes, u64 size, u64 count, u8* out) {
  // Of a width known here the inner loop has no branches.
  switch (type.width) {
    case 4: return join_byte_streams(GROUP, bytes, size, count, 4, out);
    case 8: return join_byte_streams(GROUP, bytes, size, count, 8, out);
    default: return join_byte_streams(GROUP, bytes, size, count, type.width, out);
  }
}

StatusWord sum_deltas(ValueType type, const u8* bytes, u64 size, u64 count, u8* out) {
  u64 used;
  return type.width == sizeof(u32)
             ? decode_deltas(GROUP, bytes, size, count, reinterpret_cast<u32*>(out), used)
             : decode_deltas(GROUP, bytes, size, count, reinterpret_cast<u64*>(out), used);
}

StatusWord scale_alp(ValueType type, const u8* bytes, u64 size, u64 count, u8* out) {
  return type.width == sizeof(float)
             ? decode_alp(GROUP, bytes, size, count, reinterpret_cast<float*>(out))
             : decode_alp(GROUP, bytes, size, count, reinterpret_cast<double*>(out));
}

namespace {

// Text that stands together is UTF-8 where all of it is and no value begins within a character:
// that is quicker to see than value by value. False: look again, for the place.
bool text_at_once(const u32* lengths, const u8* bytes, u64 size, u64 count, ViewPlace place,
                  u8* out) {
  const ViewsOut views{bytes, false, place, reinterpret_cast<View*>(out)};
  bool within = false;
  u64 end = 0;
  auto use = [&](u64 i, const u8* value, u32 length, u64 readable) {
    within |= length != 0 && utf8::continuation(value[0]);
    end = static_cast<u64>(value - bytes) + length;
    return views(i, value, length, readable);
  };
  const StatusWord word = walk_lengths(GROUP, lengths, bytes, size, count, Status::UTF8, use);
  return word == STATUS_OK && !within && utf8_valid_up_to(bytes, end, size) == end;
}

}  // namespace

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
    case Kind::DECIMAL_BYTES:
    case Kind::BYTES:
    case Kind::TEXT:
      return with_byte_arrays(type.kind, bytes, place, out, [&](Status refused, auto use) {
        return walk_byte_arrays(GROUP, bytes, size, count, refused, use);
      });
    case Kind::FIXED_BYTES:
      return plain_fixed_views(GROUP, bytes, size, count, type.width, place, views);
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

u32 entry_bytes(ValueType type) { return type.kind == Kind::BITS ? 1 : type.stride(); }

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

bool any_view_outside(const u8* views, u64 count) {
  u32 longest = 0;
  for (u64 i = 0; i < count; ++i) {
    const u32 length = load<u32>(views + i * sizeof(View));
    longest = length > longest ? length : longest;
  }
  return longest > MAX_INLINE_LENGTH;
}

}  // namespace pq
