#include "footer_details.hpp"

namespace pq {
namespace {

constexpr i32 META_DATA = 3, ENCODING_STATS = 13, SIZE_STATISTICS = 16, SORTING_COLUMNS = 4;

// Position 0 is never a chunk's: it stands for none.
bool find_in_meta_data(FooterReader& in, i32 id, ThriftField& field) {
  return in.position != 0 && find_field(in, spec::COLUMN_CHUNK, META_DATA, field) &&
         find_field(in, spec::COLUMN_META_DATA, id, field);
}

}  // namespace

bool find_field(FooterReader& in, const StructSpec& owner, i32 id, ThriftField& field) {
  for (field = ThriftField{}; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    if (field.id == id) return true;
    in.skip(field.type);
  }
  return false;
}

void read_statistics(FooterReader& in, StatisticsTable& table) {
  const StructSpec& owner = spec::STATISTICS;
  i64 present = HAS_STATISTICS;
  table.clear_row();
  table.cell(STATISTICS_IS_MIN_VALUE_EXACT) = table.cell(STATISTICS_IS_MAX_VALUE_EXACT) = -1;
  const auto span = [&](int column, i64 bit) {
    const ThriftSpan bytes = in.read_binary();
    table.cell(column) = static_cast<i64>(bytes.start);
    table.cell(column + 1) = static_cast<i64>(bytes.size);
    present |= bit;
  };
  const auto number = [&](const ThriftField& field, int column, i64 bit) {
    i64 value = 0;
    if (!in.read_size(owner, field, value)) return;
    table.cell(column) = value;
    present |= bit;
  };
  for (ThriftField field; in.next_field(field);) {
    if (!in.accept(owner, field)) continue;
    switch (field.id) {
      case 1: span(STATISTICS_MAX_START, HAS_MAX); break;
      case 2: span(STATISTICS_MIN_START, HAS_MIN); break;
      case 3: number(field, STATISTICS_NULL_COUNT, HAS_NULL_COUNT); break;
      case 4: number(field, STATISTICS_DISTINCT_COUNT, HAS_DISTINCT_COUNT); break;
      case 5: span(STATISTICS_MAX_VALUE_START, HAS_MAX_VALUE); break;
      case 6: span(STATISTICS_MIN_VALUE_START, HAS_MIN_VALUE); break;
      case 7: table.cell(STATISTICS_IS_MAX_VALUE_EXACT) = in.read_bool(field); break;
      case 8: table.cell(STATISTICS_IS_MIN_VALUE_EXACT) = in.read_bool(field); break;
      case 9: number(field, STATISTICS_NAN_COUNT, HAS_NAN_COUNT); break;
    }
    in.check(owner, field.id);
  }
  in.check(owner, 0);
  table.cell(STATISTICS_PRESENT) = present;
}

void read_encoding_stats(FooterReader& in, EncodingStats& out) {
  ThriftField list;
  u64 size = 0;
  if (find_in_meta_data(in, ENCODING_STATS, list)) {
    in.read_list(spec::COLUMN_META_DATA, list, size);
  }
  for (u64 i = 0; i < size && in.ok(); ++i) {
    i32 values[4] = {};
    for (ThriftField field; in.next_field(field);) {
      if (in.accept(spec::PAGE_ENCODING_STATS, field)) values[field.id] = in.read_i32(field);
    }
    out.page_type.push_back(values[1]);
    out.encoding.push_back(values[2]);
    out.count.push_back(values[3]);
  }
  in.check(spec::PAGE_ENCODING_STATS, 0);
  out.offsets.push_back(static_cast<i64>(out.count.size()));
}

void read_size_statistics(FooterReader& in, SizeStatistics& out) {
  const StructSpec& owner = spec::SIZE_STATISTICS;
  i64 unencoded = -1;
  ThriftField outer;
  if (find_in_meta_data(in, SIZE_STATISTICS, outer)) {
    for (ThriftField field; in.next_field(field);) {
      if (!in.accept(owner, field)) continue;
      if (field.id == 1) {
        in.read_size(owner, field, unencoded);
        continue;
      }
      std::vector<i64>& histogram =
          field.id == 2 ? out.repetition_level_histogram : out.definition_level_histogram;
      u64 size = 0;
      in.read_list(owner, field, size);
      for (u64 i = 0; i < size && in.ok(); ++i) histogram.push_back(in.read_zigzag());
    }
  }
  in.check(owner, 0);
  out.unencoded_byte_array_data_bytes.push_back(unencoded);
  out.repetition_offsets.push_back(static_cast<i64>(out.repetition_level_histogram.size()));
  out.definition_offsets.push_back(static_cast<i64>(out.definition_level_histogram.size()));
}

std::vector<SortingColumn> read_sorting_columns(FooterReader& in) {
  ThriftField list;
  if (!find_field(in, spec::ROW_GROUP, SORTING_COLUMNS, list)) return {};
  return read_sorting_column_list(in, list);
}

std::vector<SortingColumn> read_sorting_column_list(FooterReader& in, const ThriftField& list) {
  const StructSpec& owner = spec::SORTING_COLUMN;
  std::vector<SortingColumn> columns;
  u64 size = 0;
  in.read_list(spec::ROW_GROUP, list, size);
  for (u64 i = 0; i < size && in.ok(); ++i) {
    const u64 start = in.position;
    SortingColumn column{};
    u32 seen = 0;
    for (ThriftField field; in.next_field(field);) {
      if (!in.accept(owner, field)) continue;
      in.mark(owner, field, seen);
      switch (field.id) {
        case 1: column.column_idx = in.read_enum(owner, field); break;
        case 2: column.descending = in.read_bool(field); break;
        case 3: column.nulls_first = in.read_bool(field); break;
      }
    }
    in.check_complete(owner, seen, start);
    columns.push_back(column);
  }
  in.check(owner, 0);
  return columns;
}

std::vector<KeyValue> read_key_value_metadata(FooterReader& in) {
  std::vector<KeyValue> pairs;
  const ThriftList list = in.read_list_header();
  for (u64 i = 0; i < list.size && in.ok(); ++i) {
    KeyValue pair{};
    for (ThriftField field; in.next_field(field);) {
      if (!in.accept(spec::KEY_VALUE, field)) continue;
      const ThriftSpan span = in.read_binary();
      (field.id == 1 ? pair.key : pair.value) = span;
      pair.has_value |= field.id == 2;
    }
    pairs.push_back(pair);
  }
  in.check(spec::KEY_VALUE, 0);
  return pairs;
}

}  // namespace pq
