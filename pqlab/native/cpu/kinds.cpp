#include <array>
#include <utility>

#include "error.hpp"
#include "values.hpp"

namespace pq {
namespace {

constexpr std::array<std::pair<const char*, Kind>, 22> NAMES = {{
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
    {"CODES", Kind::CODES},
    {"NOTHING", Kind::NOTHING},
}};

}  // namespace

Kind kind_of(const std::string& name) {
  for (const auto& [known, kind] : NAMES) {
    if (name == known) return kind;
  }
  throw Error(ErrorKind::Unsupported, "no kind of values is called " + name);
}

ValueType value_type(const std::string& name, u32 width) {
  const ValueType type{kind_of(name), width};
  switch (type.stride()) {
    case 0:
    case 1:
    case 2:
    case 4:
    case 8:
    case 12:
    case 16: return type;
    default:
      throw Error(ErrorKind::Unsupported, "values of " + std::to_string(type.stride()) + " bytes");
  }
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
    case Kind::CODES: return 4;
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
  return kind == Kind::DECIMAL_BYTES || kind == Kind::BYTES || kind == Kind::TEXT ||
         kind == Kind::CODES;
}

u32 entry_bytes(ValueType type) { return type.kind == Kind::BITS ? 1 : type.stride(); }

}  // namespace pq
