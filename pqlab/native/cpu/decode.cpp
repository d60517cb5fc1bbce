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
using Ranges = nb::ndarray<const i64, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
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

// Row ranges, which become the output's rows one after the other; gives how many rows these are.
i64 add_ranges(const std::vector<PlannedRange>& ranges, ReadSpec& spec) {
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

void check_ranges(const PlannedRowGroup& group, const ReadSpec& spec) {
  const u64 stop = static_cast<u64>(group.first_range) + group.num_ranges;
  if (stop > spec.ranges.size()) throw nb::index_error("a row group of ranges that are not there");
  i64 before = 0;
  for (u64 i = group.first_range; i < stop; ++i) {
    if (spec.ranges[i].start < before) throw nb::value_error("row ranges must be sorted");
    before = spec.ranges[i].stop;
  }
}

void add_runs(const std::vector<PlannedRun>& runs, ReadSpec& spec) {
  spec.runs.reserve(runs.size());
  for (const PlannedRun& run : runs) {
    if (run.start < 0 || run.stop < run.start) throw nb::value_error("a run that is none");
    spec.runs.push_back({nullptr, static_cast<u64>(run.stop - run.start), run.start, run.first_page,
                         run.first_row, run.num_rows, 0});
  }
}

void add_chunks(const std::vector<PlannedRowGroup>& groups, const std::vector<PlannedChunk>& chunks,
                ReadSpec& spec) {
  const u64 width = spec.columns().size();
  if (chunks.size() != groups.size() * width) {
    throw nb::value_error("as many chunks of each row group as there are leaves");
  }
  spec.chunks.reserve(chunks.size());
  for (u64 i = 0; i < chunks.size(); ++i) {
    const PlannedChunk& chunk = chunks[i];
    const PlannedRowGroup& group = groups[i / width];
    if (static_cast<u64>(chunk.first_run) + chunk.num_runs > spec.runs.size()) {
      throw nb::index_error("a chunk of runs that are not there");
    }
    spec.chunks.push_back({static_cast<u32>(i % width), chunk.row_group, chunk.codec,
                           group.num_rows, chunk.num_values, (chunk.flags & CHUNK_IS_RESOLVED) != 0,
                           chunk.first_run, chunk.num_runs, group.first_range, group.num_ranges});
  }
}

}  // namespace

ReadSpec read_spec(const Columns& columns, const nb::tuple& tables, const nb::sequence& buffers) {
  ReadSpec spec;
  spec.column_set = columns.set;
  for (nb::handle each : buffers) {
    const auto pair = nb::cast<nb::tuple>(each);
    spec.fetch.pieces.push_back(piece_of(nb::cast<i64>(pair[0]), pair[1]));
  }
  const auto groups = rows_of<PlannedRowGroup>(tables[0]);
  spec.num_rows = add_ranges(rows_of<PlannedRange>(tables[3]), spec);
  for (const PlannedRowGroup& group : groups) check_ranges(group, spec);
  add_runs(rows_of<PlannedRun>(tables[2]), spec);
  add_chunks(groups, rows_of<PlannedChunk>(tables[1]), spec);
  return spec;
}

namespace {

// What native code fetches itself, of `file`.
void add_requests(const Ranges& requests, ReadSpec& spec) {
  i64 before = 0;
  for (u64 i = 0; i < requests.shape(0); ++i) {
    const i64 start = requests(i, 0), stop = requests(i, 1);
    if (start < before || stop < start) {
      throw nb::value_error("requests must be sorted and disjoint");
    }
    before = stop;
    spec.fetch.requests.push_back({start, stop, 0});
  }
  if (spec.fetch.requests.empty()) return;
  if (spec.fetch.file == nullptr) throw nb::value_error("requests need a file");
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

// What Python has of them: nanobind's own pointers to what it shares need the GIL to be dropped.
struct FileHandle {
  std::shared_ptr<const File> file;
};
struct TeamHandle {
  std::shared_ptr<Team> team;
};

std::unique_ptr<Job> decode(const Columns& columns, const nb::tuple& tables,
                            const nb::sequence& buffers, const Ranges& requests,
                            const FileHandle* file, const TeamHandle& team, i32 first_request_id,
                            bool here, bool verify_checksums, bool trace,
                            bool is_compressed_is_wrong, bool prefixes_reach_back, bool for_polars,
                            i64 page_bytes, i64 read_bytes) {
  ReadSpec spec = read_spec(columns, tables, buffers);
  spec.workers = team.team->workers;
  spec.verify_checksums = verify_checksums;
  spec.trace = trace;
  spec.is_compressed_is_wrong = is_compressed_is_wrong;
  spec.prefixes_reach_back = prefixes_reach_back;
  spec.for_polars = for_polars;
  spec.max_page_bytes = page_bytes;
  spec.max_read_bytes = read_bytes;
  if (file != nullptr) spec.fetch.file = file->file;
  spec.fetch.first_request_id = first_request_id;
  add_requests(requests, spec);
  auto job = std::make_unique<Job>(team.team, std::move(spec));
  here ? job->begin_here() : job->submit();
  return job;
}

// Of a job that is done, whatever came of it; None: it was not traced.
nb::object events_of(Job& job) {
  const Read& read = job.finished_or_failed();
  return read.spec.trace ? array_of(read.events) : nb::none();
}

// Decoded, and the events.
nb::tuple result_of(Job& job) {
  Read& read = job.finished();
  Decoded decoded = take_decoded(read, read.spec.num_rows);
  return nb::make_tuple(std::move(decoded), events_of(job));
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
  m.def("decode", &decode, nb::arg("columns"), nb::arg("tables"), nb::arg("buffers"),
        nb::arg("requests"), nb::arg("file").none(), nb::arg("team"), nb::kw_only(),
        nb::arg("first_request_id"), nb::arg("here"), nb::arg("verify_checksums"), nb::arg("trace"),
        nb::arg("is_compressed_is_wrong"), nb::arg("prefixes_reach_back"), nb::arg("for_polars"),
        nb::arg("page_bytes"), nb::arg("read_bytes"), "Begin to decode the pages of one read.");
  bind_job(m, &result_of, &events_of);
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
