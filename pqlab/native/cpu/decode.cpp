#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>

#include "bindings.hpp"
#include "crc32.hpp"
#include "decode_bindings.hpp"
#include "job.hpp"
#include "read.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, u8, nb::ndim<1>>;

// An array that owns the buffer.
nb::object array_of(Buffer buffer) {
  const u64 size = buffer.size();
  u8* data = buffer.data();
  auto owner = std::make_unique<Buffer>(std::move(buffer));
  const nb::capsule capsule(owner.release(),
                            [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  return nb::cast(Array(data, {size}, capsule));
}

nb::object array_of(const std::vector<WorkerEvents>& workers) {
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

}  // namespace

std::shared_ptr<const void> keep(nb::handle object) {
  Py_INCREF(object.ptr());
  return {object.ptr(), [](const void* held) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire gil;
            Py_DECREF(const_cast<PyObject*>(static_cast<const PyObject*>(held)));
          }};
}

namespace {

Piece piece_of(i64 start, nb::handle array) {
  const auto bytes = nb::cast<Bytes>(array);
  return {start, start + static_cast<i64>(bytes.size()), const_cast<u8*>(bytes.data()),
          keep(array)};
}

// A numpy structured array whose rows have the struct's layout.
template <class Row>
std::vector<Row> rows_of(nb::handle array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::vector<Row> rows(static_cast<u64>(view.len) / sizeof(Row));
  const bool fits = view.itemsize == sizeof(Row);
  if (fits && view.len != 0) std::memcpy(rows.data(), view.buf, static_cast<u64>(view.len));
  PyBuffer_Release(&view);
  if (!fits) throw nb::type_error("rows of another layout");
  return rows;
}

template <class Row>
Rows<Row> rows_between(const std::vector<Row>& rows, u64 start, u64 stop) {
  if (start > stop || stop > rows.size()) throw nb::index_error("rows that are not there");
  return {rows.data() + start, stop - start};
}

// Row ranges, which become the output's rows one after the other; gives how many rows these are.
i64 add_ranges(Rows<PlannedRange> ranges, ReadSpec& spec) {
  i64 out = 0;
  for (const PlannedRange& range : ranges) {
    const i64 rows = range.stop - range.start;
    if (range.start < 0 || rows < 0 || out > std::numeric_limits<i64>::max() - rows) {
      throw nb::value_error("a row range that is none");
    }
    spec.ranges.push_back({range.start, range.stop, out});
    out += rows;
  }
  return out;
}

void check_ranges(const PlannedRowGroup& group, u32 first_range, const ReadSpec& spec) {
  const u64 stop = static_cast<u64>(group.first_range) + group.num_ranges;
  if (group.first_range < first_range || stop - first_range > spec.ranges.size()) {
    throw nb::index_error("a row group of ranges that are not there");
  }
  i64 before = 0;
  for (u64 i = group.first_range - first_range; i < stop - first_range; ++i) {
    if (spec.ranges[i].start < before) throw nb::value_error("row ranges must be sorted");
    before = spec.ranges[i].stop;
  }
}

void add_runs(Rows<PlannedRun> runs, ReadSpec& spec) {
  spec.runs.reserve(runs.size());
  for (const PlannedRun& run : runs) {
    if (run.start < 0 || run.stop < run.start) throw nb::value_error("a run that is none");
    spec.runs.push_back({nullptr, static_cast<u64>(run.stop - run.start), run.start, run.first_page,
                         run.first_row, run.num_rows, 0});
  }
}

void add_chunks(const PlanRows& rows, ReadSpec& spec) {
  const u64 width = spec.columns().size();
  if (rows.chunks.size() != rows.row_groups.size() * width) {
    throw nb::value_error("as many chunks of each row group as there are leaves");
  }
  spec.chunks.reserve(rows.chunks.size());
  for (u64 i = 0; i < rows.chunks.size(); ++i) {
    const PlannedChunk& chunk = rows.chunks[i];
    const PlannedRowGroup& group = rows.row_groups[i / width];
    const u64 stop = static_cast<u64>(chunk.first_run) + chunk.num_runs;
    if (chunk.first_run < rows.first_run || stop - rows.first_run > spec.runs.size()) {
      throw nb::index_error("a chunk of runs that are not there");
    }
    spec.chunks.push_back({static_cast<u32>(i % width), chunk.row_group, chunk.codec,
                           group.num_rows, chunk.num_values, (chunk.flags & CHUNK_IS_RESOLVED) != 0,
                           chunk.first_run - rows.first_run, chunk.num_runs,
                           group.first_range - rows.first_range, group.num_ranges});
  }
}

}  // namespace

PlanTables plan_tables(const nb::tuple& tables) {
  return {rows_of<PlannedRowGroup>(tables[0]), rows_of<PlannedChunk>(tables[1]),
          rows_of<PlannedRun>(tables[2]), rows_of<PlannedRange>(tables[3])};
}

PlanRows PlanTables::part(u64 start, u64 stop, u64 width) const {
  if (start > stop || stop > row_groups.size() || chunks.size() != row_groups.size() * width) {
    throw nb::index_error("row groups that are not there");
  }
  PlanRows part{rows_between(row_groups, start, stop),
                rows_between(chunks, start * width, stop * width)};
  if (part.row_groups.size() != 0) {
    const PlannedRowGroup& last = part.row_groups[part.row_groups.size() - 1];
    part.first_range = part.row_groups[0].first_range;
    part.ranges = rows_between(ranges, part.first_range,
                               static_cast<u64>(last.first_range) + last.num_ranges);
  }
  if (part.chunks.size() != 0) {
    const PlannedChunk& last = part.chunks[part.chunks.size() - 1];
    part.first_run = part.chunks[0].first_run;
    part.runs =
        rows_between(runs, part.first_run, static_cast<u64>(last.first_run) + last.num_runs);
  }
  return part;
}

void add_plan(const PlanRows& rows, ReadSpec& spec) {
  spec.num_rows = add_ranges(rows.ranges, spec);
  for (const PlannedRowGroup& group : rows.row_groups) {
    check_ranges(group, rows.first_range, spec);
  }
  add_runs(rows.runs, spec);
  add_chunks(rows, spec);
}

void add_buffers(const nb::sequence& buffers, ReadSpec& spec) {
  for (nb::handle each : buffers) {
    const auto pair = nb::cast<nb::tuple>(each);
    spec.fetch.pieces.push_back(piece_of(nb::cast<i64>(pair[0]), pair[1]));
  }
}

ReadSpec read_spec(const Columns& columns, const nb::tuple& tables, const nb::sequence& buffers) {
  ReadSpec spec;
  spec.column_set = columns.set;
  add_buffers(buffers, spec);
  const PlanTables planned = plan_tables(tables);
  add_plan(planned.part(0, planned.row_groups.size(), spec.columns().size()), spec);
  return spec;
}

void add_requests(const std::vector<ByteRange>& requests, ReadSpec& spec) {
  for (const ByteRange& each : requests) spec.fetch.requests.push_back({each.start, each.stop, 0});
  std::vector<Wanted> wanted;
  for (const ChunkSpec& chunk : spec.chunks) {
    for (u32 i = chunk.first_run; i < chunk.first_run + chunk.num_runs; ++i) {
      const FileRun& run = spec.runs[i];
      wanted.push_back({run.offset, run.offset + static_cast<i64>(run.size), chunk.row_group,
                        spec.columns()[chunk.column].leaf});
    }
  }
  spec.fetch.lay_out(std::move(wanted));
}

namespace {

template <class Row>
nb::object array_of_rows(const std::vector<Row>& rows) {
  Buffer bytes(rows.size() * sizeof(Row));
  if (!rows.empty()) std::memcpy(bytes.data(), rows.data(), bytes.size());
  return array_of(std::move(bytes));
}

// Of a job that is done, whatever came of it: events, and what its requests were for.
nb::tuple recorded_of(Job& job) {
  const Read& read = job.finished_or_failed();
  return nb::make_tuple(array_of(read.events), array_of_rows(read.spec.fetch.served()));
}

Decoded result_of(Job& job) {
  Read& read = job.finished();
  return take_decoded(read, read.spec.num_rows);
}

// `columns`: of one leaf. `data`: its dictionary page, which starts at `offset` in the file.
Decoded decode_dictionary_page(const Columns& columns, i32 row_group, i32 codec, nb::handle data,
                               i64 offset, i64 page_bytes, i64 read_bytes) {
  ReadSpec spec;
  spec.column_set = columns.set;
  if (spec.columns().size() != 1) throw nb::value_error("a dictionary is of one leaf");
  spec.for_polars = true;
  spec.max_page_bytes = page_bytes;
  spec.max_read_bytes = read_bytes;
  spec.fetch.pieces.push_back(piece_of(offset, data));
  const Piece& bytes = spec.fetch.pieces.front();
  const u64 size = static_cast<u64>(bytes.stop - bytes.start);
  spec.runs.push_back({bytes.data, size, offset, -1, 0, -1, 0});
  spec.chunks.push_back({0, row_group, codec, 0, 0, true, 0, 1, 0, 0});
  Read read(spec);
  i64 num_entries;
  {
    const nb::gil_scoped_release release;
    num_entries = run_dictionary(read);
  }
  return take_decoded(read, num_entries);
}

}  // namespace

void bind_decode(nb::module_& m) {
  nb::class_<FileHandle>(m, "File", "An open file; it has a descriptor of its own.")
      .def(
          "__init__",
          [](FileHandle* self, int descriptor) {
            new (self) FileHandle{std::make_shared<const File>(descriptor)};
          },
          nb::arg("descriptor"));
  nb::class_<TeamHandle>(m, "Team", "Jobs that together take so many threads at a time.")
      .def(
          "__init__",
          [](TeamHandle* self, u32 workers) {
            new (self) TeamHandle{std::make_shared<Team>(workers)};
          },
          nb::arg("workers"))
      .def_prop_ro("workers", [](const TeamHandle& self) { return self.team->workers; });
  bind_job(m, &result_of, &recorded_of);
  m.def("decode_dictionary_page", &decode_dictionary_page, nb::arg("columns"), nb::arg("row_group"),
        nb::arg("codec"), nb::arg("data"), nb::arg("offset"), nb::kw_only(), nb::arg("page_bytes"),
        nb::arg("read_bytes"));
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
