// FileMetaData: the file's own fields, the row groups, and the loop over chunks.
#include "footer.hpp"

#include "footer_chunk.hpp"
#include "footer_details.hpp"
#include "footer_predict.hpp"

namespace pq {
namespace {

constexpr u64 MIN_CHUNK_BYTES = 2;      // a field and the stop byte
constexpr u64 MIN_ROW_GROUP_BYTES = 7;  // three required fields and the stop byte

class RowGroupsReader {
 public:
  RowGroupsReader(FooterReader& in, Footer& footer, bool predict)
      : in_(in),
        footer_(footer),
        num_leaves_(footer.schema.num_leaves()),
        predictor_(footer.schema, predict),
        plain_(in, footer.schema, no_layout_),
        learning_(in, footer.schema, layout_) {}

  void read() {
    for (u64 group = 0; group < footer_.num_row_groups; ++group) {
      in_.row_group = static_cast<i64>(group);
      read_row_group();
    }
    in_.row_group = -1;
    footer_.chunks.flush();
    footer_.row_groups.flush();
  }

 private:
  void read_row_group() {
    const StructSpec& owner = spec::ROW_GROUP;
    const u64 start = in_.position;
    i64 cells[GROUP_COLUMNS];
    std::fill(cells, cells + GROUP_COLUMNS, -1);
    cells[GROUP_POSITION] = static_cast<i64>(start);
    cells[GROUP_NUM_SORTING_COLUMNS] = 0;
    u32 seen = 0;
    for (ThriftField field; in_.next_field(field);) {
      if (!in_.accept(owner, field)) continue;
      in_.mark(owner, field, seen);
      switch (field.id) {
        case 1: read_columns(field); break;
        case 2: in_.read_size(owner, field, cells[GROUP_TOTAL_BYTE_SIZE]); break;
        case 3: in_.read_size(owner, field, cells[GROUP_NUM_ROWS]); break;
        case 4: cells[GROUP_NUM_SORTING_COLUMNS] = count_sorting_columns(field); break;
        case 5: in_.read_size(owner, field, cells[GROUP_FILE_OFFSET]); break;
        case 6: in_.read_size(owner, field, cells[GROUP_TOTAL_COMPRESSED_SIZE]); break;
        case 7: in_.read_size(owner, field, cells[GROUP_ORDINAL]); break;
      }
      in_.check(owner, field.id);
    }
    in_.check_complete(owner, seen, start);
    cells[GROUP_FIRST_ROW] = footer_.num_rows;
    if (__builtin_add_overflow(footer_.num_rows, cells[GROUP_NUM_ROWS], &footer_.num_rows)) {
      in_.corrupt(owner, 3, "the row groups' rows do not add up within 64 bits", start);
    }
    for (int c = 0; c < GROUP_COLUMNS; ++c) footer_.row_groups.cell(c) = cells[c];
    footer_.row_groups.next_row();
  }

  i64 count_sorting_columns(const ThriftField& field) {
    i64 count = 0;
    in_.read_optional(
        field, [&] { count = static_cast<i64>(read_sorting_column_list(in_, field).size()); });
    return count;
  }

  void read_columns(const ThriftField& field) {
    u64 size = 0;
    in_.read_list(spec::ROW_GROUP, field, size);
    if (size != num_leaves_) {
      in_.corrupt(spec::ROW_GROUP, 1,
                  std::to_string(size) + " column chunks where the schema has " +
                      std::to_string(num_leaves_) + " leaves",
                  field.position);
    }
    for (u64 leaf = 0; leaf < num_leaves_; ++leaf) {
      if (!predictor_.recognise(in_, leaf, footer_.chunks)) walk(leaf);
      footer_.chunks.next_row();
    }
    in_.leaf = -1;
  }

  void walk(u64 leaf) {
    in_.leaf = static_cast<i64>(leaf);
    i64 row[CHUNK_COLUMNS] = {};
    if (predictor_.should_learn(leaf)) {
      const u64 warnings = in_.num_warnings;
      layout_.begin(in_.position);
      learning_.read(row);
      Shape shape;
      if (in_.num_warnings == warnings && layout_.finish(in_, row, shape)) {
        predictor_.learn(leaf, std::move(shape));
      }
    } else {
      plain_.read(row);
    }
    for (int c = 0; c < CHUNK_COLUMNS; ++c) footer_.chunks.cell(c) = row[c];
  }

  FooterReader& in_;
  Footer& footer_;
  const u64 num_leaves_;
  ChunkPredictor predictor_;
  NoLayout no_layout_;
  ShapeLayout layout_;
  ChunkWalker<NoLayout> plain_;
  ChunkWalker<ShapeLayout> learning_;
};

void read_row_groups(FooterReader& in, const ThriftField& field, const FooterLimits& limits,
                     bool predict, Footer& footer) {
  const StructSpec& file = spec::FILE_META_DATA;
  in.read_list(file, field, footer.num_row_groups);
  const u64 groups = footer.num_row_groups, leaves = footer.schema.num_leaves();
  check_limit("row_groups", limits.row_groups, groups, "the footer");
  check_limit("column_chunks", limits.column_chunks, groups * leaves, "the footer");
  if (groups * (leaves * MIN_CHUNK_BYTES + MIN_ROW_GROUP_BYTES) > in.left()) {
    in.corrupt(file, 4, std::to_string(groups) + " row groups cannot fit the bytes that are left",
               field.position);
  }
  footer.chunks.resize(groups * leaves);
  footer.row_groups.resize(groups);
  RowGroupsReader(in, footer, predict).read();
}

void read_column_orders(FooterReader& in, const ThriftField& field, Footer& footer) {
  u64 size = 0;
  if (!in.read_list(spec::FILE_META_DATA, field, size)) return;
  std::vector<u8> orders;
  orders.reserve(size);
  for (u64 i = 0; i < size && in.ok(); ++i) {
    const i32 id = in.read_union();
    orders.push_back(id > 0 && id < 255 ? static_cast<u8>(id) : 255);
  }
  in.check(spec::FILE_META_DATA, 7);
  footer.column_orders = std::move(orders);
}

// False: it is not a list of structs, and was skipped.
bool check_key_value_metadata(FooterReader& in, const ThriftField& field) {
  u64 size = 0;
  if (!in.read_list(spec::FILE_META_DATA, field, size)) return false;
  for (u64 i = 0; i < size && in.ok(); ++i) {
    const u64 start = in.position;
    u32 seen = 0;
    for (ThriftField entry; in.next_field(entry);) {
      if (!in.accept(spec::KEY_VALUE, entry)) continue;
      in.mark(spec::KEY_VALUE, entry, seen);
      in.read_binary();
    }
    in.check_complete(spec::KEY_VALUE, seen, start);
  }
  return true;
}

}  // namespace

void check_limit(const char* limit_name, u64 limit, u64 value, const char* what) {
  if (value <= limit) return;
  const std::string name = limit_name, needed = std::to_string(value);
  Error error(ErrorKind::Limit, std::string(what) + " needs " + needed + ", above the limit " +
                                    name + " = " + std::to_string(limit));
  error.hint = "If you trust the file, pass limits=pqlab.Limits(" + name + "=" + needed + ")";
  throw error;
}

void read_footer(FooterReader& in, const FooterLimits& limits, bool predict, Footer& footer) {
  const StructSpec& owner = spec::FILE_META_DATA;
  u32 seen = 0;
  u64 row_groups_at = 0;  // where the list begins, if it stands before the schema
  ThriftField row_groups;
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    in.mark(owner, field, seen);
    switch (field.id) {
      case 1: footer.version = in.read_enum(owner, field); break;
      case 2: {
        u64 size = 0;
        in.read_list(owner, field, size);
        const u64 start = in.position;
        read_schema(in, size, limits, footer.schema);
        footer.schema.elements = {start, in.position - start};
        break;
      }
      case 3: footer.stated_num_rows = in.read_signed(64); break;
      case 4:
        if (seen & 1u << 2) {
          read_row_groups(in, field, limits, predict, footer);
        } else {
          row_groups = field;
          row_groups_at = in.position;
          in.skip(field.type);
        }
        break;
      case 5: {
        const u64 start = in.position;
        in.read_optional(field, [&] {
          if (check_key_value_metadata(in, field)) footer.key_value_metadata = start;
        });
        break;
      }
      case 6:
        footer.created_by = in.read_binary();
        footer.has_created_by = true;
        break;
      case 7: in.read_optional(field, [&] { read_column_orders(in, field, footer); }); break;
      case 8:
        in.read_optional(field, [&] {
          const i32 id = in.read_union();
          in.check(owner, 8);
          footer.encryption_algorithm = id;
        });
        break;
      case 9:
        in.read_binary();
        footer.has_footer_signing_key_metadata = true;
        break;
    }
    in.check(owner, field.id);
  }
  in.check_complete(owner, seen, 0);
  if (row_groups_at != 0) {
    in.position = row_groups_at;
    read_row_groups(in, row_groups, limits, predict, footer);
  }
  if (!footer.column_orders.empty() && footer.column_orders.size() != footer.schema.num_leaves()) {
    in.warn("FileMetaData.column_orders", "has another length than the schema has leaves", 0);
    footer.column_orders.clear();
  }
}

}  // namespace pq
