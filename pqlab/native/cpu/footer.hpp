// FileMetaData as columnar arrays. pqlab/footer/metadata.py describes what the columns mean; the
// names here are the keys of the arrays there.
#pragma once
#include <string>
#include <vector>

#include "footer_reader.hpp"
#include "narrow.hpp"

namespace pq {

struct FooterLimits {
  u64 schema_elements;
  u64 schema_depth;
  u64 row_groups;
  u64 column_chunks;
};

// Throws a LimitError that names the limit and the argument that raises it.
void check_limit(const char* limit_name, u64 limit, u64 value, const char* what);

enum SchemaColumn : int {
  SCHEMA_NAME_START,
  SCHEMA_NAME_SIZE,
  SCHEMA_PARENT,
  SCHEMA_NUM_CHILDREN,
  SCHEMA_TYPE,
  SCHEMA_TYPE_LENGTH,
  SCHEMA_REPETITION_TYPE,
  SCHEMA_CONVERTED_TYPE,
  SCHEMA_SCALE,
  SCHEMA_PRECISION,
  SCHEMA_FIELD_ID,
  SCHEMA_PRESENT,
  SCHEMA_LOGICAL_TYPE,
  SCHEMA_LOGICAL_UNIT,
  SCHEMA_LOGICAL_FLAG,
  SCHEMA_LOGICAL_A,
  SCHEMA_LOGICAL_B,
  SCHEMA_LOGICAL_CRS_START,
  SCHEMA_LOGICAL_CRS_SIZE,
  SCHEMA_COLUMNS,
};
inline constexpr const char* SCHEMA_NAMES[SCHEMA_COLUMNS] = {
    "name_start",   "name_size",         "parent",          "num_children",
    "type",         "type_length",       "repetition_type", "converted_type",
    "scale",        "precision",         "field_id",        "present",
    "logical_type", "logical_unit",      "logical_flag",    "logical_a",
    "logical_b",    "logical_crs_start", "logical_crs_size"};

// What walking the row groups needs of the schema.
struct Schema {
  NarrowTable<SCHEMA_COLUMNS> table{0};
  std::vector<ThriftSpan> names;   // by element
  std::vector<u32> parents;        // by element; the root's is 0
  std::vector<u32> depths;         // by element; the root's is 0
  std::vector<u32> leaf_elements;  // by leaf
  std::vector<i8> leaf_types;      // by leaf
  u64 num_elements = 0;
  ThriftSpan elements{};  // the bytes of the list, behind its header

  u64 num_leaves() const { return leaf_elements.size(); }
  std::string column(const u8* footer, i64 leaf) const;  // the dotted path
};

// Reads FileMetaData.schema from behind its list header.
void read_schema(FooterReader& in, u64 num_elements, const FooterLimits& limits, Schema& schema);

enum ChunkColumn : int {
  CHUNK_POSITION,
  CHUNK_PRESENT,
  CHUNK_CODEC,
  CHUNK_ENCODINGS,
  CHUNK_DATA_PAGE_ENCODINGS,
  CHUNK_NUM_DATA_PAGES,
  CHUNK_NUM_VALUES,
  CHUNK_TOTAL_UNCOMPRESSED_SIZE,
  CHUNK_TOTAL_COMPRESSED_SIZE,
  CHUNK_DATA_PAGE_OFFSET,
  CHUNK_DICTIONARY_PAGE_OFFSET,
  CHUNK_NULL_COUNT,
  CHUNK_DISTINCT_COUNT,
  CHUNK_STATISTICS_POSITION,
  CHUNK_OFFSET_INDEX_OFFSET,
  CHUNK_OFFSET_INDEX_LENGTH,
  CHUNK_COLUMN_INDEX_OFFSET,
  CHUNK_COLUMN_INDEX_LENGTH,
  CHUNK_BLOOM_FILTER_OFFSET,
  CHUNK_BLOOM_FILTER_LENGTH,
  CHUNK_COLUMNS,
};
inline constexpr const char* CHUNK_NAMES[CHUNK_COLUMNS] = {"position",
                                                           "present",
                                                           "codec",
                                                           "encodings",
                                                           "data_page_encodings",
                                                           "num_data_pages",
                                                           "num_values",
                                                           "total_uncompressed_size",
                                                           "total_compressed_size",
                                                           "data_page_offset",
                                                           "dictionary_page_offset",
                                                           "null_count",
                                                           "distinct_count",
                                                           "statistics_position",
                                                           "offset_index_offset",
                                                           "offset_index_length",
                                                           "column_index_offset",
                                                           "column_index_length",
                                                           "bloom_filter_offset",
                                                           "bloom_filter_length"};
using ChunkTable = NarrowTable<CHUNK_COLUMNS>;

enum RowGroupColumn : int {
  GROUP_POSITION,
  GROUP_NUM_ROWS,
  GROUP_FIRST_ROW,
  GROUP_TOTAL_BYTE_SIZE,
  GROUP_TOTAL_COMPRESSED_SIZE,
  GROUP_FILE_OFFSET,
  GROUP_ORDINAL,
  GROUP_NUM_SORTING_COLUMNS,
  GROUP_COLUMNS,
};
inline constexpr const char* GROUP_NAMES[GROUP_COLUMNS] = {
    "position",    "num_rows", "first_row",          "total_byte_size", "total_compressed_size",
    "file_offset", "ordinal",  "num_sorting_columns"};
using RowGroupTable = NarrowTable<GROUP_COLUMNS>;

// Bits of `present`, as pqlab.footer.metadata.Present.
enum Present : i64 {
  HAS_FILE_PATH = 1 << 0,
  HAS_META_DATA = 1 << 1,
  HAS_OFFSET_INDEX = 1 << 2,
  HAS_COLUMN_INDEX = 1 << 3,
  HAS_CRYPTO_METADATA = 1 << 4,
  HAS_ENCRYPTED_COLUMN_METADATA = 1 << 5,
  HAS_KEY_VALUE_METADATA = 1 << 6,
  HAS_INDEX_PAGE_OFFSET = 1 << 7,
  HAS_DICTIONARY_PAGE_OFFSET = 1 << 8,
  HAS_STATISTICS = 1 << 9,
  HAS_ENCODING_STATS = 1 << 10,
  HAS_BLOOM_FILTER_OFFSET = 1 << 11,
  HAS_BLOOM_FILTER_LENGTH = 1 << 12,
  HAS_SIZE_STATISTICS = 1 << 13,
  HAS_GEOSPATIAL_STATISTICS = 1 << 14,
  HAS_NULL_COUNT = 1 << 15,
  HAS_DISTINCT_COUNT = 1 << 16,
  HAS_NAN_COUNT = 1 << 17,
  HAS_MIN = 1 << 18,
  HAS_MAX = 1 << 19,
  HAS_MIN_VALUE = 1 << 20,
  HAS_MAX_VALUE = 1 << 21,
};

struct Footer {
  Schema schema;
  ChunkTable chunks{0};
  RowGroupTable row_groups{0};
  u64 num_row_groups = 0;
  i64 version = 0;
  i64 num_rows = 0;         // summed
  i64 stated_num_rows = 0;  // as the footer says
  ThriftSpan created_by;
  bool has_created_by = false;
  u64 key_value_metadata = 0;     // position of the list's header; 0: none
  std::vector<u8> column_orders;  // by leaf: field id of the ColumnOrder union; empty: absent
  i32 encryption_algorithm = 0;   // field id of the union; 0: none
  bool has_footer_signing_key_metadata = false;
};

// Parses the bytes of FileMetaData. `predict`: recognise chunks by their shape.
void read_footer(FooterReader& in, const FooterLimits& limits, bool predict, Footer& footer);

}  // namespace pq
