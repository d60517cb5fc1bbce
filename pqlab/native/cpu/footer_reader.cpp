#include "footer_reader.hpp"

#include "thrift_text.hpp"

namespace pq {
namespace {

const char* type_name(ThriftType type) {
  constexpr const char* names[] = {"nothing", "bool",   "bool", "i8",  "i16", "i32",    "i64",
                                   "double",  "binary", "list", "set", "map", "struct", "uuid"};
  return type <= ThriftType::UUID ? names[static_cast<int>(type)] : "unknown";
}

}  // namespace

std::string field_name(const StructSpec& owner, i32 id) {
  if (id <= 0) return owner.name;
  const bool known = id < MAX_FIELDS && owner.fields[id].name != nullptr;
  const std::string field = known ? owner.fields[id].name : "field " + std::to_string(id);
  return std::string(owner.name) + "." + field;
}

void FooterReader::corrupt(const StructSpec& owner, i32 id, const std::string& message,
                           u64 where) const {
  Error error(ErrorKind::Corrupt, message, field_name(owner, id), static_cast<i64>(where));
  error.row_group = row_group;
  error.leaf = leaf;
  throw error;
}

void FooterReader::corrupt_status(const StructSpec& owner, i32 id) const {
  corrupt(owner, id, thrift_text(status), failed_at);
}

void FooterReader::warn(const std::string& field, const std::string& message, u64 where) {
  ++num_warnings;
  for (Warning& warning : warnings) {
    if (warning.field == field && warning.message == message) {
      ++warning.count;
      return;
    }
  }
  if (warnings.size() == MAX_WARNINGS) {
    ++warnings.back().count;
    return;
  }
  if (warnings.size() + 1 < MAX_WARNINGS) {
    warnings.push_back({field, message, 1, where, row_group, leaf});
  } else {
    warnings.push_back({"", "further warnings are not listed", 1, where, row_group, leaf});
  }
}

void FooterReader::skip_field(const StructSpec& owner, const ThriftField& field) {
  const bool known = field.id > 0 && field.id < MAX_FIELDS && owner.fields[field.id].name;
  if (known) {
    const FieldSpec& expected = owner.fields[field.id];
    const std::string message = std::string("is ") + type_name(field.type) + " where " +
                                type_name(expected.type) + " belongs";
    if (expected.required) corrupt(owner, field.id, message, field.position);
    warn(field_name(owner, field.id), message, field.position);
  }
  const bool extension = is_extension(field);
  if (extension && extensions.size() < MAX_EXTENSIONS) {
    const ThriftSpan span = read_binary();
    extensions.push_back({owner.name, span.start, span.size, row_group, leaf});
    ++num_warnings;  // nothing is wrong, but the struct is not to be recognised by its shape
  } else {
    if (extension) {
      warn(field_name(owner, field.id), "more than 100,000 of them; not all are listed", position);
    }
    skip(field.type);
  }
  check(owner, field.id);
}

void FooterReader::give_up(const ThriftField& field, u64 start, const Error& error) {
  position = start;
  status = ThriftStatus::OK;
  skip(field.type);
  if (!ok()) throw error;  // nobody knows where the value ends
  warn(error.field, error.message, static_cast<u64>(error.offset));
}

bool FooterReader::read_size(const StructSpec& owner, const ThriftField& field, i64& value) {
  const u64 start = position;
  const i64 number = read_zigzag();
  check(owner, field.id);
  const bool too_large = field.type == ThriftType::I32 && number > 0x7fffffff;
  if (number >= 0 && !too_large) {
    value = number;
    return true;
  }
  const std::string message =
      (number < 0 ? "is negative: " : "does not fit 32 bits: ") + std::to_string(number);
  if (owner.fields[field.id].required) corrupt(owner, field.id, message, start);
  // Without the number, so that the same fault in many chunks is one warning.
  warn(field_name(owner, field.id), number < 0 ? "is negative" : "does not fit 32 bits", start);
  return false;
}

bool FooterReader::read_list(const StructSpec& owner, const ThriftField& field, u64& length) {
  const u64 start = position;
  const ThriftList list = read_list_header();
  check(owner, field.id);
  const FieldSpec& expected = owner.fields[field.id];
  // An empty list may carry any element type: some writers leave it 0.
  if (list.size == 0 || list.element == expected.element) {
    length = list.size;
    return true;
  }
  const std::string message = std::string("is a list of ") + type_name(list.element) +
                              " where a list of " + type_name(expected.element) + " belongs";
  if (expected.required) corrupt(owner, field.id, message, start);
  warn(field_name(owner, field.id), message, start);
  position = start;
  skip(ThriftType::LIST);
  check(owner, field.id);
  return false;
}

}  // namespace pq
