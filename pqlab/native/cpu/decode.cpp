#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

#include "bindings.hpp"
#include "crc32.hpp"
#include "read.hpp"
#include "thread_pool.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, u8, nb::ndim<1>>;

// Buffers become arrays of exactly their size that own them.
nb::object array_of(Buffer buffer) {
  if (!buffer) return nb::none();
  const u64 size = buffer.size();
  u8* data = buffer.data();
  auto owner = std::make_unique<Buffer>(std::move(buffer));
  const nb::capsule capsule(owner.release(),
                            [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  return nb::cast(Array(data, {size}, capsule));
}

nb::object array_of(const std::vector<std::vector<Event>>& workers) {
  u64 count = 0;
  for (const auto& events : workers) count += events.size();
  Buffer all(count * sizeof(Event));
  u8* to = all.data();
  for (const auto& events : workers) {
    const u64 size = events.size() * sizeof(Event);
    if (size != 0) std::memcpy(to, events.data(), size);
    to += size;
  }
  return array_of(std::move(all));
}

ColumnSpec column_spec(nb::handle item) {
  const auto t = nb::cast<nb::tuple>(item);
  ColumnSpec column{nb::cast<i32>(t[0]),
                    value_type(nb::cast<std::string>(t[1]), nb::cast<u32>(t[2])),
                    nb::cast<u32>(t[3]),
                    {}};
  Nesting& nesting = column.nesting;
  nesting.max_definition_level = column.max_definition_level;
  nesting.nested = nb::cast<bool>(t[4]);
  for (nb::handle level : nb::cast<nb::tuple>(t[5])) {
    nesting.list_levels.push_back(nb::cast<u32>(level));
  }
  for (nb::handle each : nb::cast<nb::tuple>(t[6])) {
    const auto group = nb::cast<nb::tuple>(each);
    nesting.groups.push_back({nb::cast<u32>(group[0]), nb::cast<u32>(group[1])});
    if (nesting.groups.back().depth >= nesting.list_levels.size()) {
      throw nb::index_error("a group names a depth that is not there");
    }
  }
  nesting.leaf_is_optional = nb::cast<bool>(t[7]);
  if (column.max_definition_level > std::numeric_limits<Level>::max()) {
    Error error(ErrorKind::Unsupported, "a column nested so deep is not read");
    error.leaf = column.leaf;
    throw error;
  }
  const bool fixed = column.type.copies() || is_fixed(column.type.kind);
  if (fixed && column.type.width == 0) {
    Error error(ErrorKind::Corrupt, "values of no bytes", "SchemaElement.type_length");
    error.leaf = column.leaf;
    throw error;
  }
  return column;
}

// The arrays are held by the caller for as long as the call takes.
ChunkSpec chunk_spec(nb::handle item, const std::vector<ColumnSpec>& columns,
                     const std::vector<RowRange>& ranges, u32& num_runs) {
  const auto t = nb::cast<nb::tuple>(item);
  ChunkSpec chunk{nb::cast<u32>(t[0]),
                  nb::cast<i32>(t[1]),
                  nb::cast<i32>(t[2]),
                  nb::cast<i64>(t[3]),
                  nb::cast<i64>(t[4]),
                  nb::cast<bool>(t[5]),
                  {},
                  nb::cast<u32>(t[6]),
                  nb::cast<u32>(t[7])};
  const u64 stop = static_cast<u64>(chunk.first_range) + chunk.num_ranges;
  if (chunk.column >= columns.size() || stop > ranges.size()) {
    throw nb::index_error("a chunk names a column or a range that is not there");
  }
  i64 before = 0;
  for (u64 i = chunk.first_range; i < stop; ++i) {
    if (ranges[i].start < before || ranges[i].stop < ranges[i].start) {
      throw nb::value_error("row ranges must be sorted and disjoint");
    }
    before = ranges[i].stop;
  }
  for (nb::handle each : nb::cast<nb::list>(t[8])) {
    const auto r = nb::cast<nb::tuple>(each);
    const auto data = nb::cast<Bytes>(r[0]);
    chunk.runs.push_back({data.data(), data.size(), nb::cast<i64>(r[1]), nb::cast<i32>(r[2]),
                          nb::cast<i64>(r[3]), nb::cast<i64>(r[4]), num_runs++});
  }
  return chunk;
}

RowRange row_range(nb::handle item, i64 num_rows) {
  const auto t = nb::cast<nb::tuple>(item);
  const RowRange range{nb::cast<i64>(t[0]), nb::cast<i64>(t[1]), nb::cast<i64>(t[2])};
  const i64 rows = range.stop - range.start;
  if (range.start < 0 || rows < 0 || range.out < 0 || range.out > num_rows - rows) {
    throw nb::value_error("a row range outside the output");
  }
  return range;
}

nb::list view_buffers_of(ColumnOutput& column) {
  nb::list buffers;
  for (ViewBuffer& buffer : column.view_buffers) {
    if (buffer.run != nullptr) {
      buffers.append(nb::make_tuple(buffer.run->ordinal, buffer.start, buffer.stop));
    } else {
      buffers.append(array_of(std::move(buffer.owned)));
    }
  }
  return buffers;
}

// Of a flat column None; else its slots by depth, its lists' offsets, and (bitmap, null count) of
// its optional groups.
nb::object nested_of(NestedOutput& nested) {
  if (nested.slots.empty()) return nb::none();
  nb::list slots, offsets, groups;
  for (const u64 count : nested.slots) slots.append(count);
  for (Buffer& buffer : nested.offsets) offsets.append(array_of(std::move(buffer)));
  for (BitmapOutput& group : nested.groups) {
    groups.append(nb::make_tuple(array_of(std::move(group.bits)), group.null_count.load()));
  }
  return nb::make_tuple(slots, offsets, groups);
}

nb::tuple output_of(ColumnOutput& column) {
  return nb::make_tuple(array_of(std::move(column.values)), array_of(std::move(column.validity)),
                        column.null_count.load(), view_buffers_of(column),
                        nested_of(column.nested));
}

bool signal_pending() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Waits without the GIL; a signal's exception ends the read.
void run(Work& work) {
  constexpr i64 POLL_NS = 40'000'000;
  bool interrupted = false;
  {
    const nb::gil_scoped_release release;
    work.begin_here();
    while (!work.wait(POLL_NS)) {
      if (interrupted || !signal_pending()) continue;
      interrupted = true;
      work.cancel();
    }
  }
  if (interrupted) throw nb::python_error();
  work.rethrow();
}

nb::tuple decode(const nb::list& columns, const nb::list& chunks, const nb::list& ranges,
                 i64 num_rows, u32 workers, bool verify_checksums, bool trace,
                 bool is_compressed_is_wrong, bool prefixes_reach_back, i64 page_bytes,
                 i64 read_bytes) {
  ReadSpec spec;
  spec.num_rows = num_rows;
  spec.workers = std::clamp(workers, 1u, MAX_WORKERS);
  spec.verify_checksums = verify_checksums;
  spec.trace = trace;
  spec.is_compressed_is_wrong = is_compressed_is_wrong;
  spec.prefixes_reach_back = prefixes_reach_back;
  spec.max_page_bytes = page_bytes;
  spec.max_read_bytes = read_bytes;
  for (nb::handle item : columns) spec.columns.push_back(column_spec(item));
  for (nb::handle item : ranges) spec.ranges.push_back(row_range(item, num_rows));
  u32 num_runs = 0;
  for (nb::handle item : chunks) {
    spec.chunks.push_back(chunk_spec(item, spec.columns, spec.ranges, num_runs));
  }
  const auto team = std::make_shared<Team>(spec.workers);
  ReadWork state(std::move(spec));
  run(*std::make_shared<Work>(team, [&](Phase& phase) { return state.next(phase); }));
  Read& read = state.read();
  nb::list outputs;
  for (ColumnOutput& column : read.columns) outputs.append(output_of(column));
  return nb::make_tuple(outputs, trace ? array_of(read.events) : nb::none());
}

// `chunk`: (row group, codec, the page's bytes, their offset in the file).
nb::tuple decode_dictionary_page(nb::handle column, const nb::tuple& chunk, i64 page_bytes,
                                 i64 read_bytes) {
  ReadSpec spec;
  spec.columns.push_back(column_spec(column));
  spec.max_page_bytes = page_bytes;
  spec.max_read_bytes = read_bytes;
  const auto data = nb::cast<Bytes>(chunk[2]);
  const FileRun run{data.data(), data.size(), nb::cast<i64>(chunk[3]), -1, 0, -1, 0};
  spec.chunks.push_back(
      {0, nb::cast<i32>(chunk[0]), nb::cast<i32>(chunk[1]), 0, 0, true, {run}, 0, 0});
  Read read(spec);
  i64 num_entries;
  {
    const nb::gil_scoped_release release;
    num_entries = run_dictionary(read);
  }
  return nb::make_tuple(output_of(read.columns.front()), num_entries);
}

}  // namespace

void bind_decode(nb::module_& m) {
  m.def("decode", &decode, nb::arg("columns"), nb::arg("chunks"), nb::arg("ranges"), nb::kw_only(),
        nb::arg("num_rows"), nb::arg("workers"), nb::arg("verify_checksums"), nb::arg("trace"),
        nb::arg("is_compressed_is_wrong"), nb::arg("prefixes_reach_back"), nb::arg("page_bytes"),
        nb::arg("read_bytes"),
        "Decode the pages of one read; pqlab/cpu/engine.py says what goes in and comes out.");
  m.def("decode_dictionary_page", &decode_dictionary_page, nb::arg("column"), nb::arg("chunk"),
        nb::kw_only(), nb::arg("page_bytes"), nb::arg("read_bytes"));
  m.def(
      "reads_encoding",
      [](u8 page_type, i8 encoding, const std::string& kind) {
        return reads_encoding(static_cast<PageType>(page_type), encoding, kind_of(kind));
      },
      nb::arg("page_type"), nb::arg("encoding"), nb::arg("kind"),
      "Whether pages of this type and encoding are read into this kind of column.");
  m.def("reads_codec", &reads_codec, nb::arg("codec"));
  m.def(
      "crc32", [](const Bytes& data) { return crc32(data.data(), data.size()); }, nb::arg("data"));
}

}  // namespace pq
