// The fields of the footer's structs, as native code knows them: name, wire type, whether the
// specification requires them. Tests compare this table with parquet.thrift.
#pragma once
#include "thrift.cuh"

namespace pq {

struct FieldSpec {
  const char* name;  // nullptr: the struct has no such field
  ThriftType type;
  bool required;
  ThriftType element;  // of lists, else STOP
};

constexpr int MAX_FIELDS = 18;

struct StructSpec {
  const char* name;
  FieldSpec fields[MAX_FIELDS];  // by id; 0 is no field
};

namespace spec {

constexpr ThriftType BOOL = ThriftType::BOOL_TRUE, I8 = ThriftType::I8, I16 = ThriftType::I16,
                     I32 = ThriftType::I32, I64 = ThriftType::I64, BINARY = ThriftType::BINARY,
                     STRUCT = ThriftType::STRUCT, LIST = ThriftType::LIST;

constexpr FieldSpec required(const char* name, ThriftType type) {
  return {name, type, true, ThriftType::STOP};
}
constexpr FieldSpec optional(const char* name, ThriftType type) {
  return {name, type, false, ThriftType::STOP};
}
constexpr FieldSpec required_list(const char* name, ThriftType element) {
  return {name, LIST, true, element};
}
constexpr FieldSpec optional_list(const char* name, ThriftType element) {
  return {name, LIST, false, element};
}
constexpr FieldSpec NONE{nullptr, ThriftType::STOP, false, ThriftType::STOP};

inline constexpr StructSpec FILE_META_DATA{
    "FileMetaData",
    {NONE, required("version", I32), required_list("schema", STRUCT), required("num_rows", I64),
     required_list("row_groups", STRUCT), optional_list("key_value_metadata", STRUCT),
     optional("created_by", BINARY), optional_list("column_orders", STRUCT),
     optional("encryption_algorithm", STRUCT), optional("footer_signing_key_metadata", BINARY)}};

inline constexpr StructSpec SCHEMA_ELEMENT{
    "SchemaElement",
    {NONE, optional("type", I32), optional("type_length", I32), optional("repetition_type", I32),
     required("name", BINARY), optional("num_children", I32), optional("converted_type", I32),
     optional("scale", I32), optional("precision", I32), optional("field_id", I32),
     optional("logicalType", STRUCT)}};

inline constexpr StructSpec DECIMAL_TYPE{
    "DecimalType", {NONE, required("scale", I32), required("precision", I32)}};

// TimestampType has the same fields.
inline constexpr StructSpec TIME_TYPE{
    "TimeType", {NONE, required("isAdjustedToUTC", BOOL), required("unit", STRUCT)}};

inline constexpr StructSpec INT_TYPE{"IntType",
                                     {NONE, required("bitWidth", I8), required("isSigned", BOOL)}};

inline constexpr StructSpec VARIANT_TYPE{"VariantType",
                                         {NONE, optional("specification_version", I8)}};

// GeometryType has the first of these fields.
inline constexpr StructSpec GEOGRAPHY_TYPE{
    "GeographyType", {NONE, optional("crs", BINARY), optional("algorithm", I32)}};

inline constexpr StructSpec ROW_GROUP{
    "RowGroup",
    {NONE, required_list("columns", STRUCT), required("total_byte_size", I64),
     required("num_rows", I64), optional_list("sorting_columns", STRUCT),
     optional("file_offset", I64), optional("total_compressed_size", I64),
     optional("ordinal", I16)}};

// file_offset is required by the letter, with a default; nothing depends on it.
inline constexpr StructSpec COLUMN_CHUNK{
    "ColumnChunk",
    {NONE, optional("file_path", BINARY), optional("file_offset", I64),
     optional("meta_data", STRUCT), optional("offset_index_offset", I64),
     optional("offset_index_length", I32), optional("column_index_offset", I64),
     optional("column_index_length", I32), optional("crypto_metadata", STRUCT),
     optional("encrypted_column_metadata", BINARY)}};

inline constexpr StructSpec COLUMN_META_DATA{
    "ColumnMetaData",
    {NONE, required("type", I32), required_list("encodings", I32),
     required_list("path_in_schema", BINARY), required("codec", I32), required("num_values", I64),
     required("total_uncompressed_size", I64), required("total_compressed_size", I64),
     optional_list("key_value_metadata", STRUCT), required("data_page_offset", I64),
     optional("index_page_offset", I64), optional("dictionary_page_offset", I64),
     optional("statistics", STRUCT), optional_list("encoding_stats", STRUCT),
     optional("bloom_filter_offset", I64), optional("bloom_filter_length", I32),
     optional("size_statistics", STRUCT), optional("geospatial_statistics", STRUCT)}};

inline constexpr StructSpec STATISTICS{
    "Statistics",
    {NONE, optional("max", BINARY), optional("min", BINARY), optional("null_count", I64),
     optional("distinct_count", I64), optional("max_value", BINARY), optional("min_value", BINARY),
     optional("is_max_value_exact", BOOL), optional("is_min_value_exact", BOOL),
     optional("nan_count", I64)}};

inline constexpr StructSpec PAGE_ENCODING_STATS{
    "PageEncodingStats",
    {NONE, required("page_type", I32), required("encoding", I32), required("count", I32)}};

inline constexpr StructSpec SIZE_STATISTICS{"SizeStatistics",
                                            {NONE, optional("unencoded_byte_array_data_bytes", I64),
                                             optional_list("repetition_level_histogram", I64),
                                             optional_list("definition_level_histogram", I64)}};

inline constexpr StructSpec SORTING_COLUMN{
    "SortingColumn",
    {NONE, required("column_idx", I32), required("descending", BOOL),
     required("nulls_first", BOOL)}};

inline constexpr StructSpec KEY_VALUE{"KeyValue",
                                      {NONE, required("key", BINARY), optional("value", BINARY)}};

inline constexpr const StructSpec* ALL[] = {
    &FILE_META_DATA, &SCHEMA_ELEMENT,      &DECIMAL_TYPE,    &TIME_TYPE,      &INT_TYPE,
    &VARIANT_TYPE,   &GEOGRAPHY_TYPE,      &ROW_GROUP,       &COLUMN_CHUNK,   &COLUMN_META_DATA,
    &STATISTICS,     &PAGE_ENCODING_STATS, &SIZE_STATISTICS, &SORTING_COLUMN, &KEY_VALUE};

}  // namespace spec
}  // namespace pq
