// FileMetaData.schema: elements in depth-first order to a table, with the tree's shape checked.
#include <algorithm>

#include "footer.hpp"

namespace pq {
namespace {

// Bits of SCHEMA_PRESENT.
constexpr i64 HAS_TYPE_LENGTH = 1, HAS_SCALE = 2, HAS_PRECISION = 4, HAS_FIELD_ID = 8,
              HAS_LOGICAL_A = 16, HAS_LOGICAL_B = 32, HAS_LOGICAL_CRS = 64;

constexpr i32 BOOLEAN = 0, FIXED_LEN_BYTE_ARRAY = 7;
constexpr i64 ABSENT = -1;

// The union's field ids.
constexpr i32 DECIMAL = 5, TIME = 7, TIMESTAMP = 8, INTEGER = 10, VARIANT = 16, GEOMETRY = 17,
              GEOGRAPHY = 18;

struct LogicalType {
  i64 kind = 0, unit = 0, flag = 0, a = 0, b = 0, present = 0;
  ThriftSpan crs;
};

void read_decimal(FooterReader& in, LogicalType& out) {
  const StructSpec& owner = spec::DECIMAL_TYPE;
  const u64 start = in.position;
  u32 seen = 0;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    in.mark(owner, field, seen);
    (field.id == 1 ? out.a : out.b) = in.read_signed(32);
    in.check(owner, field.id);
  }
  in.check_complete(owner, seen, start);
  out.present |= HAS_LOGICAL_A | HAS_LOGICAL_B;
}

void read_time(FooterReader& in, LogicalType& out) {
  const StructSpec& owner = spec::TIME_TYPE;
  const u64 start = in.position;
  u32 seen = 0;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    in.mark(owner, field, seen);
    if (field.id == 1) {
      out.flag = in.read_bool(field);
    } else {
      out.unit = in.read_union();
    }
    in.check(owner, field.id);
  }
  in.check_complete(owner, seen, start);
}

void read_integer(FooterReader& in, LogicalType& out) {
  const StructSpec& owner = spec::INT_TYPE;
  const u64 start = in.position;
  u32 seen = 0;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    in.mark(owner, field, seen);
    if (field.id == 1) {
      out.a = in.read_i8(field);
    } else {
      out.flag = in.read_bool(field);
    }
    in.check(owner, field.id);
  }
  in.check_complete(owner, seen, start);
  out.present |= HAS_LOGICAL_A;
}

void read_variant(FooterReader& in, LogicalType& out) {
  const StructSpec& owner = spec::VARIANT_TYPE;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    out.a = in.read_i8(field);
    out.present |= HAS_LOGICAL_A;
    in.check(owner, field.id);
  }
}

void read_geography(FooterReader& in, LogicalType& out) {
  const StructSpec& owner = spec::GEOGRAPHY_TYPE;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    if (field.id == 1) {
      out.crs = in.read_binary();
      out.present |= HAS_LOGICAL_CRS;
    } else {
      out.a = in.read_signed(32);
      out.present |= HAS_LOGICAL_A;
    }
    in.check(owner, field.id);
  }
}

void read_logical_type(FooterReader& in, LogicalType& out) {
  for (ThriftField field; in.next_field(field);) {
    if (field.type != ThriftType::STRUCT) {
      in.fail(ThriftStatus::WRONG_TYPE, field.position);
      break;
    }
    out = LogicalType{};
    out.kind = field.id;
    switch (field.id) {
      case DECIMAL: read_decimal(in, out); break;
      case TIME:
      case TIMESTAMP: read_time(in, out); break;
      case INTEGER: read_integer(in, out); break;
      case VARIANT: read_variant(in, out); break;
      case GEOMETRY:
      case GEOGRAPHY: read_geography(in, out); break;
      default: in.skip(field.type);
    }
  }
  in.check(spec::SCHEMA_ELEMENT, 10);
}

struct Element {
  ThriftSpan name;
  i64 type = ABSENT, repetition_type = ABSENT, converted_type = ABSENT, num_children = ABSENT;
  i64 type_length = 0, scale = 0, precision = 0, field_id = 0, present = 0;
  LogicalType logical;
  u64 start = 0;
};

void read_element(FooterReader& in, Element& out) {
  const StructSpec& owner = spec::SCHEMA_ELEMENT;
  out.start = in.position;
  u32 seen = 0;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    in.mark(owner, field, seen);
    switch (field.id) {
      case 1: out.type = in.read_enum(owner, field); break;
      case 2:
        if (in.read_size(owner, field, out.type_length)) out.present |= HAS_TYPE_LENGTH;
        break;
      case 3: out.repetition_type = in.read_enum(owner, field); break;
      case 4: out.name = in.read_binary(); break;
      case 5:
        out.num_children = in.read_enum(owner, field);
        if (out.num_children < 0) {
          in.corrupt(owner, 5, "is negative: " + std::to_string(out.num_children), field.position);
        }
        break;
      case 6: out.converted_type = in.read_enum(owner, field); break;
      case 7:
        out.scale = in.read_enum(owner, field);
        out.present |= HAS_SCALE;
        break;
      case 8:
        out.precision = in.read_enum(owner, field);
        out.present |= HAS_PRECISION;
        break;
      case 9:
        out.field_id = in.read_enum(owner, field);
        out.present |= HAS_FIELD_ID;
        break;
      case 10:
        if (!in.read_optional(field, [&] { read_logical_type(in, out.logical); })) {
          out.logical = LogicalType{};
        }
        break;
    }
    in.check(owner, field.id);
  }
  in.check_complete(owner, seen, out.start);
}

void store(const Element& element, i64 parent, NarrowTable<SCHEMA_COLUMNS>& table) {
  const auto set = [&](int column, i64 value) { table.cell(column) = value; };
  set(SCHEMA_NAME_START, static_cast<i64>(element.name.start));
  set(SCHEMA_NAME_SIZE, static_cast<i64>(element.name.size));
  set(SCHEMA_PARENT, parent);
  set(SCHEMA_NUM_CHILDREN, element.num_children);
  set(SCHEMA_TYPE, element.type);
  set(SCHEMA_TYPE_LENGTH, element.type_length);
  set(SCHEMA_REPETITION_TYPE, element.repetition_type);
  set(SCHEMA_CONVERTED_TYPE, element.converted_type);
  set(SCHEMA_SCALE, element.scale);
  set(SCHEMA_PRECISION, element.precision);
  set(SCHEMA_FIELD_ID, element.field_id);
  set(SCHEMA_PRESENT, element.present | element.logical.present);
  set(SCHEMA_LOGICAL_TYPE, element.logical.kind);
  set(SCHEMA_LOGICAL_UNIT, element.logical.unit);
  set(SCHEMA_LOGICAL_FLAG, element.logical.flag);
  set(SCHEMA_LOGICAL_A, element.logical.a);
  set(SCHEMA_LOGICAL_B, element.logical.b);
  set(SCHEMA_LOGICAL_CRS_START, static_cast<i64>(element.logical.crs.start));
  set(SCHEMA_LOGICAL_CRS_SIZE, static_cast<i64>(element.logical.crs.size));
  table.next_row();
}

// A leaf has a type and no children; a group has children, or is an empty group without a type.
void check_element(FooterReader& in, const Element& element, bool is_root) {
  const StructSpec& owner = spec::SCHEMA_ELEMENT;
  const auto corrupt = [&](i32 id, const char* message) {
    in.corrupt(owner, id, message, element.start);
  };
  const bool is_leaf = element.num_children <= 0 && element.type != ABSENT;
  if (is_root && is_leaf) corrupt(5, "the root of the schema has no children");
  if (!is_leaf && element.num_children == ABSENT && !is_root) {
    corrupt(1, "has neither a type nor children");
  }
  if (is_leaf && (element.type < BOOLEAN || element.type > FIXED_LEN_BYTE_ARRAY)) {
    corrupt(1, "is a physical type that the format does not have");
  }
  if (is_leaf && element.type == FIXED_LEN_BYTE_ARRAY &&
      (!(element.present & HAS_TYPE_LENGTH) || element.type_length == 0)) {
    in.warn(field_name(owner, 2), "is missing or 0: only nulls can be read of such a column",
            element.start);
  }
  if (!is_root && (element.repetition_type < 0 || element.repetition_type > 2)) {
    corrupt(3, "is neither REQUIRED, OPTIONAL nor REPEATED");
  }
}

}  // namespace

void read_schema(FooterReader& in, u64 num_elements, const FooterLimits& limits, Schema& schema) {
  const StructSpec& file = spec::FILE_META_DATA;
  check_limit("schema_elements", limits.schema_elements, num_elements, "the schema");
  if (num_elements == 0) in.corrupt(file, 2, "is empty: the root is missing", in.position);
  schema.num_elements = num_elements;
  schema.table.resize(num_elements);
  // Groups that are open, innermost last, with the children that they still expect.
  struct Open {
    u32 element;
    i64 children;
  };
  std::vector<Open> open;
  u64 path_parts = 0;
  for (u64 e = 0; e < num_elements; ++e) {
    Element element;
    read_element(in, element);
    const bool is_root = e == 0;
    check_element(in, element, is_root);
    if (!is_root && open.empty()) {
      in.corrupt(file, 2, "elements are left over behind the root's last child", element.start);
    }
    const u32 parent = is_root ? 0 : open.back().element;
    const u32 depth = static_cast<u32>(open.size());
    check_limit("schema_depth", limits.schema_depth, depth, "the depth of the schema");
    store(element, parent, schema.table);
    schema.names.push_back(element.name);
    schema.parents.push_back(parent);
    schema.depths.push_back(depth);
    if (!is_root) --open.back().children;
    if (element.num_children > 0) {
      open.push_back({static_cast<u32>(e), element.num_children});
    } else if (element.type != ABSENT) {
      schema.leaf_elements.push_back(static_cast<u32>(e));
      schema.leaf_types.push_back(static_cast<i8>(element.type));
      path_parts += depth;
    }
    while (!open.empty() && open.back().children == 0) open.pop_back();
  }
  if (!open.empty()) {
    in.corrupt(spec::SCHEMA_ELEMENT, 5, "promises more children than there are elements",
               in.position);
  }
  // Every leaf knows its path: many leaves that are deep would cost far more than the footer.
  check_limit("schema_elements", limits.schema_elements, path_parts / 16,
              "the paths of the leaves");
  schema.table.flush();
}

std::string Schema::column(const u8* footer, i64 leaf) const {
  std::vector<u32> path;
  for (u32 e = leaf_elements[static_cast<u64>(leaf)]; e != 0; e = parents[e]) path.push_back(e);
  std::reverse(path.begin(), path.end());
  std::string text;
  for (const u32 e : path) {
    if (!text.empty()) text += '.';
    text.append(reinterpret_cast<const char*>(footer) + names[e].start, names[e].size);
  }
  return text;
}

}  // namespace pq
