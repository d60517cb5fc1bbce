// The footer's Python face: bytes in, dictionaries of arrays out. An array of one element stands
// for all rows.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "footer_bulk.hpp"
#include "footer_details.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const u64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object numpy(OwnedBytes&& data, u64 size) {
  u8* raw = data.release();
  nb::capsule owner(raw, [](void* pointer) noexcept { std::free(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(raw, {size}, owner));
}

nb::object numpy(NarrowColumn& column) {
  const bool constant = column.width == 0;
  if (constant) {
    column.capacity = column.size = 1;
    column.width = 8;
    column.data = allocate_bytes(8);
    std::memcpy(column.data.get(), &column.first, 8);
    return numpy<i64>(std::move(column.data), 1);
  }
  OwnedBytes data = std::move(column.data);
  const u64 size = column.size;
  if (column.is_signed) {
    switch (column.width) {
      case 1: return numpy<i8>(std::move(data), size);
      case 2: return numpy<i16>(std::move(data), size);
      case 4: return numpy<i32>(std::move(data), size);
      default: return numpy<i64>(std::move(data), size);
    }
  }
  switch (column.width) {
    case 1: return numpy<u8>(std::move(data), size);
    case 2: return numpy<u16>(std::move(data), size);
    case 4: return numpy<u32>(std::move(data), size);
    default: return numpy<u64>(std::move(data), size);
  }
}

template <class T>
nb::object numpy(const std::vector<T>& values) {
  OwnedBytes data = allocate_bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(data.get(), values.data(), values.size() * sizeof(T));
  return numpy<T>(std::move(data), values.size());
}

template <int N>
nb::dict numpy(NarrowTable<N>& table, const char* const (&names)[N]) {
  nb::dict arrays;
  for (int c = 0; c < N; ++c) arrays[names[c]] = numpy(table.column(c));
  return arrays;
}

// Text of a file, whatever its bytes: what is not UTF-8 becomes U+FFFD.
nb::object text(const char* bytes, u64 size) {
  PyObject* value = PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), "replace");
  if (!value) throw nb::python_error();
  return nb::steal(value);
}

nb::object text(const u8* footer, const ThriftSpan& span) {
  return text(reinterpret_cast<const char*>(footer) + span.start, span.size);
}

nb::object text(const std::string& value) { return text(value.data(), value.size()); }

nb::dict parse_footer(const Bytes& bytes, u64 schema_elements, u64 schema_depth, u64 row_groups,
                      u64 column_chunks, bool predict) {
  FooterReader in(bytes.data(), bytes.size());
  Footer footer;
  {
    nb::gil_scoped_release release;
    try {
      read_footer(in, {schema_elements, schema_depth, row_groups, column_chunks}, predict, footer);
    } catch (Error& error) {
      if (error.leaf >= 0) error.column = footer.schema.column(bytes.data(), error.leaf);
      throw;
    }
  }
  nb::dict result;
  result["schema"] = numpy(footer.schema.table, SCHEMA_NAMES);
  result["chunks"] = numpy(footer.chunks, CHUNK_NAMES);
  result["row_groups"] = numpy(footer.row_groups, GROUP_NAMES);
  result["leaf_elements"] = numpy(footer.schema.leaf_elements);
  result["column_orders"] = numpy(footer.column_orders);
  result["num_row_groups"] = footer.num_row_groups;
  result["num_elements"] = footer.schema.num_elements;
  result["format_version"] = footer.version;
  result["num_rows"] = footer.num_rows;
  result["stated_num_rows"] = footer.stated_num_rows;
  result["created_by"] = footer.has_created_by ? text(bytes.data(), footer.created_by) : nb::none();
  result["key_value_metadata"] = footer.key_value_metadata;
  result["encryption_algorithm"] = footer.encryption_algorithm;
  result["has_footer_signing_key_metadata"] = footer.has_footer_signing_key_metadata;
  nb::list warnings, extensions;
  for (const Warning& warning : in.warnings) {
    const nb::object column =
        warning.leaf >= 0 ? text(footer.schema.column(bytes.data(), warning.leaf)) : nb::none();
    warnings.append(nb::make_tuple(warning.field, warning.message, warning.count, warning.position,
                                   warning.row_group, column));
  }
  for (const Extension& extension : in.extensions) {
    extensions.append(nb::make_tuple(extension.owner, extension.start, extension.size,
                                     extension.row_group, extension.leaf));
  }
  result["warnings"] = warnings;
  result["extensions"] = extensions;
  return result;
}

// `sources`: paths as bytes, or arrays that hold a FileMetaData each.
nb::dict parse_footers(const nb::list& sources, u64 schema_elements, u64 schema_depth,
                       u64 row_groups, u64 column_chunks, u64 footer_bytes, u64 guess_bytes,
                       unsigned threads) {
  std::vector<FooterSource> given;
  for (const nb::handle source : sources) {
    if (nb::isinstance<nb::bytes>(source)) {
      const nb::bytes path = nb::cast<nb::bytes>(source);
      given.push_back({std::string(path.c_str(), path.size())});
    } else {
      const Bytes bytes = nb::cast<Bytes>(source);
      given.push_back({"", bytes.data(), bytes.size()});
    }
  }
  const BulkOptions options{{schema_elements, schema_depth, row_groups, column_chunks},
                            footer_bytes,
                            std::max<u64>(guess_bytes, 8),
                            threads};
  Footers footers;
  bool interrupted = false;
  {
    nb::gil_scoped_release release;
    read_footers(
        given, options,
        [&] {
          nb::gil_scoped_acquire acquire;
          interrupted = PyErr_CheckSignals() != 0;
          return !interrupted;
        },
        footers);
  }
  if (interrupted) throw nb::python_error();
  nb::dict result;
  result["files"] = numpy(footers.files, FILE_NAMES);
  result["chunks"] = numpy(footers.chunks, CHUNK_NAMES);
  result["row_groups"] = numpy(footers.row_groups, GROUP_NAMES);
  result["statistics"] = numpy(footers.statistics);
  nb::list kinds;
  for (const std::string& kind : footers.kinds) kinds.append(nb::bytes(kind.data(), kind.size()));
  result["kinds"] = kinds;
  return result;
}

nb::dict stat_many(const nb::list& paths) {
  std::vector<std::string> given;
  for (const nb::handle path : paths) {
    const nb::bytes bytes = nb::cast<nb::bytes>(path);
    given.emplace_back(bytes.c_str(), bytes.size());
  }
  FileTable files(0);
  {
    nb::gil_scoped_release release;
    stat_files(given, files);
  }
  return numpy(files, FILE_NAMES);
}

// Calls `read` with a reader at each position; 0 stands for none.
template <class Read>
void for_each_position(const Bytes& bytes, const Positions& positions, Read read) {
  nb::gil_scoped_release release;
  for (size_t i = 0; i < positions.size(); ++i) {
    FooterReader in(bytes.data(), bytes.size(), std::min<u64>(positions.data()[i], bytes.size()));
    read(in);
  }
}

nb::dict parse_statistics(const Bytes& bytes, const Positions& positions) {
  StatisticsTable table(positions.size());
  for_each_position(bytes, positions, [&](FooterReader& in) {
    if (in.position == 0) {
      table.clear_row();
      table.cell(STATISTICS_IS_MIN_VALUE_EXACT) = table.cell(STATISTICS_IS_MAX_VALUE_EXACT) = -1;
    } else {
      read_statistics(in, table);
    }
    table.next_row();
  });
  table.flush();
  return numpy(table, STATISTICS_NAMES);
}

nb::dict parse_encoding_stats(const Bytes& bytes, const Positions& positions) {
  EncodingStats stats;
  for_each_position(bytes, positions, [&](FooterReader& in) { read_encoding_stats(in, stats); });
  nb::dict arrays;
  arrays["offsets"] = numpy(stats.offsets);
  arrays["page_type"] = numpy(stats.page_type);
  arrays["encoding"] = numpy(stats.encoding);
  arrays["count"] = numpy(stats.count);
  return arrays;
}

nb::dict parse_size_statistics(const Bytes& bytes, const Positions& positions) {
  SizeStatistics stats;
  for_each_position(bytes, positions, [&](FooterReader& in) { read_size_statistics(in, stats); });
  nb::dict arrays;
  arrays["unencoded_byte_array_data_bytes"] = numpy(stats.unencoded_byte_array_data_bytes);
  arrays["repetition_offsets"] = numpy(stats.repetition_offsets);
  arrays["repetition_level_histogram"] = numpy(stats.repetition_level_histogram);
  arrays["definition_offsets"] = numpy(stats.definition_offsets);
  arrays["definition_level_histogram"] = numpy(stats.definition_level_histogram);
  return arrays;
}

FooterReader reader_at(const Bytes& bytes, u64 position) {
  return FooterReader(bytes.data(), bytes.size(), std::min<u64>(position, bytes.size()));
}

nb::list parse_sorting_columns(const Bytes& bytes, u64 position) {
  FooterReader in = reader_at(bytes, position);
  nb::list result;
  for (const SortingColumn& column : read_sorting_columns(in)) {
    result.append(nb::make_tuple(column.column_idx, column.descending, column.nulls_first));
  }
  return result;
}

nb::list parse_key_values(const Bytes& bytes, u64 position) {
  FooterReader in = reader_at(bytes, position);
  nb::list result;
  for (const KeyValue& pair : read_key_value_metadata(in)) {
    const nb::object value = pair.has_value ? text(bytes.data(), pair.value) : nb::none();
    result.append(nb::make_tuple(text(bytes.data(), pair.key), value));
  }
  return result;
}

// {struct: {field id: (name, thrift type, required, element type)}}, for tests.
nb::dict footer_fields() {
  nb::dict structs;
  for (const StructSpec* owner : spec::ALL) {
    nb::dict fields;
    for (int id = 1; id < MAX_FIELDS; ++id) {
      const FieldSpec& field = owner->fields[id];
      if (!field.name) continue;
      fields[nb::int_(id)] = nb::make_tuple(field.name, static_cast<int>(field.type),
                                            field.required, static_cast<int>(field.element));
    }
    structs[owner->name] = fields;
  }
  return structs;
}

}  // namespace

void bind_footer(nb::module_& m) {
  m.def("parse_footer", &parse_footer, nb::arg("footer"), nb::kw_only(), nb::arg("schema_elements"),
        nb::arg("schema_depth"), nb::arg("row_groups"), nb::arg("column_chunks"),
        nb::arg("predict") = true);
  m.def("parse_footers", &parse_footers, nb::arg("sources"), nb::kw_only(),
        nb::arg("schema_elements"), nb::arg("schema_depth"), nb::arg("row_groups"),
        nb::arg("column_chunks"), nb::arg("footer_bytes"), nb::arg("guess_bytes"),
        nb::arg("threads"));
  m.def("stat_files", &stat_many, nb::arg("paths"));
  m.def("parse_statistics", &parse_statistics, nb::arg("footer"), nb::arg("positions"));
  m.def("parse_encoding_stats", &parse_encoding_stats, nb::arg("footer"), nb::arg("positions"));
  m.def("parse_size_statistics", &parse_size_statistics, nb::arg("footer"), nb::arg("positions"));
  m.def("parse_sorting_columns", &parse_sorting_columns, nb::arg("footer"), nb::arg("position"));
  m.def("parse_key_values", &parse_key_values, nb::arg("footer"), nb::arg("position"));
  m.def("footer_fields", &footer_fields);
}

}  // namespace pq
