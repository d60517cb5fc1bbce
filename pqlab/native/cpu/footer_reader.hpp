// Reads a footer's structs by their field tables: what contradicts the specification is an error
// with its place, or a warning where the field is optional.
#pragma once
#include <string>
#include <vector>

#include "error.hpp"
#include "thrift_fields.hpp"

namespace pq {

// What was wrong in an optional field, which is then treated as absent. One entry per field and
// message: `count` says how often, the place is the first one's.
struct Warning {
  std::string field;
  std::string message;
  u64 count;
  u64 position;
  i64 row_group;
  i64 leaf;
};

// The bytes of a field 32767 (BinaryProtocolExtensions.md) within the footer.
struct Extension {
  const char* owner;  // the struct that carries it
  u64 start;
  u64 size;
  i64 row_group;
  i64 leaf;
};

// The field's id as thrift writes it (08 FE FF 03), and as thrift reads the header that the
// specification spells out (08 FF FF 01): the varint of 32767, without zigzag.
constexpr bool is_extension(const ThriftField& field) {
  return (field.id == 32767 || field.id == -16384) && field.type == ThriftType::BINARY;
}
constexpr u64 MAX_EXTENSIONS = 100000;  // further ones are skipped and counted in a warning
constexpr u64 MAX_WARNINGS = 100;       // distinct ones

class FooterReader : public ThriftReader {
 public:
  i64 row_group = -1;  // the place that errors name
  i64 leaf = -1;
  std::vector<Warning> warnings;
  std::vector<Extension> extensions;
  u64 num_warnings = 0;

  using ThriftReader::ThriftReader;

  // True if the field is the struct's and has its type: the caller reads the value. Else the value
  // has been skipped (unknown fields; optional ones of another type, with a warning).
  bool accept(const StructSpec& owner, const ThriftField& field) {
    const u32 id = static_cast<u32>(field.id);
    if (id < MAX_FIELDS) {
      const ThriftType type = owner.fields[id].type;
      if (field.type == type ||
          (field.type == ThriftType::BOOL_FALSE && type == ThriftType::BOOL_TRUE)) {
        return true;
      }
    }
    skip_field(owner, field);
    return false;
  }

  // Throws if anything failed since the field's header.
  void check(const StructSpec& owner, i32 id) {
    if (!ok()) corrupt_status(owner, id);
  }

  // Notes that the field was met; a struct has none twice.
  void mark(const StructSpec& owner, const ThriftField& field, u32& seen) const {
    if (seen >> field.id & 1) corrupt(owner, field.id, "is there twice", field.position);
    seen |= 1u << field.id;
  }

  // To be called behind the last field: every required field must have its bit in `seen`.
  void check_complete(const StructSpec& owner, u32 seen, u64 start) {
    if (!ok()) corrupt_status(owner, 0);
    for (int id = 1; id < MAX_FIELDS; ++id) {
      if (owner.fields[id].required && !(seen >> id & 1)) {
        corrupt(owner, id, "the required field is missing", start);
      }
    }
  }

  // A count, size or offset: i64 or i32, never negative. False: optional and wrong, warned about.
  bool read_size(const StructSpec& owner, const ThriftField& field, i64& value);

  i32 read_enum(const StructSpec& owner, const ThriftField& field) {
    const i32 value = static_cast<i32>(read_signed(32));
    check(owner, field.id);
    return value;
  }

  // A union of empty structs: the id of the field that is set; 0 if none is.
  i32 read_union() {
    i32 set = 0;
    for (ThriftField field; next_field(field);) {
      set = field.id;
      skip(field.type);
    }
    return set;
  }

  // The header of a list field, its element type checked. False: optional and wrong, skipped.
  bool read_list(const StructSpec& owner, const ThriftField& field, u64& length);

  // Runs `read` on an optional field whose value is more than a number. What it throws becomes a
  // warning, and the value is skipped as a whole.
  template <class Read>
  bool read_optional(const ThriftField& field, Read read) {
    const u64 start = position;
    try {
      read();
      return true;
    } catch (const Error& error) {
      if (error.kind != ErrorKind::Corrupt) throw;
      give_up(field, start, error);
      return false;
    }
  }

  void warn(const std::string& field, const std::string& message, u64 where);
  [[noreturn]] void corrupt(const StructSpec& owner, i32 id, const std::string& message,
                            u64 where) const;

 private:
  void skip_field(const StructSpec& owner, const ThriftField& field);
  void give_up(const ThriftField& field, u64 start, const Error& error);
  [[noreturn]] void corrupt_status(const StructSpec& owner, i32 id) const;
};

std::string field_name(const StructSpec& owner, i32 id);

}  // namespace pq
