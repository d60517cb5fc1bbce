// What the footer's tables leave in place, read on demand: bounds, encoding statistics, size
// statistics, sorting columns, keys and values.
#pragma once
#include <vector>

#include "footer.hpp"

namespace pq {

// Spans are positions in the footer. The order of min, max, min_value, max_value is that of the
// keys in STATISTICS_NAMES.
enum StatisticsColumn : int {
  STATISTICS_PRESENT,
  STATISTICS_MIN_START,
  STATISTICS_MIN_LENGTH,
  STATISTICS_MAX_START,
  STATISTICS_MAX_LENGTH,
  STATISTICS_MIN_VALUE_START,
  STATISTICS_MIN_VALUE_LENGTH,
  STATISTICS_MAX_VALUE_START,
  STATISTICS_MAX_VALUE_LENGTH,
  STATISTICS_IS_MIN_VALUE_EXACT,
  STATISTICS_IS_MAX_VALUE_EXACT,
  STATISTICS_NULL_COUNT,
  STATISTICS_DISTINCT_COUNT,
  STATISTICS_NAN_COUNT,
  STATISTICS_COLUMNS,
};
inline constexpr const char* STATISTICS_NAMES[STATISTICS_COLUMNS] = {
    "present",          "min_start",          "min_length",         "max_start",
    "max_length",       "min_value_start",    "min_value_length",   "max_value_start",
    "max_value_length", "is_min_value_exact", "is_max_value_exact", "null_count",
    "distinct_count",   "nan_count"};
using StatisticsTable = NarrowTable<STATISTICS_COLUMNS>;

// Reads the Statistics struct at the reader's position into the table's next row.
void read_statistics(FooterReader& in, StatisticsTable& table);

// Lists of many chunks, one behind the other: those of row i are [offsets[i], offsets[i + 1]).
struct EncodingStats {
  std::vector<i64> offsets{0};
  std::vector<i32> page_type, encoding, count;
};
struct SizeStatistics {
  std::vector<i64> unencoded_byte_array_data_bytes;  // -1: absent
  std::vector<i64> repetition_offsets{0}, repetition_level_histogram;
  std::vector<i64> definition_offsets{0}, definition_level_histogram;
};
struct SortingColumn {
  i32 column_idx;
  bool descending, nulls_first;
};
struct KeyValue {
  ThriftSpan key, value;
  bool has_value;
};

// These read what belongs to the ColumnChunk (or RowGroup) struct at the reader's position.
void read_encoding_stats(FooterReader& in, EncodingStats& out);
void read_size_statistics(FooterReader& in, SizeStatistics& out);
std::vector<SortingColumn> read_sorting_columns(FooterReader& in);

// Reads the list of the field whose header was just read.
std::vector<SortingColumn> read_sorting_column_list(FooterReader& in, const ThriftField& list);

// Reads the list at the reader's position.
std::vector<KeyValue> read_key_value_metadata(FooterReader& in);

// Moves behind the header of field `id` of the struct at the reader's position. False: not there.
bool find_field(FooterReader& in, const StructSpec& owner, i32 id, ThriftField& field);

}  // namespace pq
