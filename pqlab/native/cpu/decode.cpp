#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

#include "bindings.hpp"
#include "crc32.hpp"
#include "decode_bindings.hpp"
#include "read.hpp"
#include "thread_pool.hpp"

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

// Keeps a Python object; the last to let go of it may be any thread.
std::shared_ptr<const void> keep(nb::handle object) {
  Py_INCREF(object.ptr());
  return {object.ptr(), [](const void* held) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire gil;
            Py_DECREF(const_cast<PyObject*>(static_cast<const PyObject*>(held)));
          }};
}

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

// `tables`: row groups, chunks, runs and ranges, as plan.cuh lays them out. `buffers`: (start, the
// file's bytes from there on), sorted.
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

nb::tuple decode(const Columns& columns, const nb::tuple& tables, const nb::sequence& buffers,
                 u32 workers, bool verify_checksums, bool trace, bool is_compressed_is_wrong,
                 bool prefixes_reach_back, bool for_polars, i64 page_bytes, i64 read_bytes) {
  ReadSpec spec = read_spec(columns, tables, buffers);
  spec.workers = std::clamp(workers, 1u, MAX_WORKERS);
  spec.verify_checksums = verify_checksums;
  spec.trace = trace;
  spec.is_compressed_is_wrong = is_compressed_is_wrong;
  spec.prefixes_reach_back = prefixes_reach_back;
  spec.for_polars = for_polars;
  spec.max_page_bytes = page_bytes;
  spec.max_read_bytes = read_bytes;
  const auto team = std::make_shared<Team>(spec.workers);
  ReadWork state(std::move(spec));
  run(*std::make_shared<Work>(team, [&](Phase& phase) { return state.next(phase); }));
  Read& read = state.read();
  return nb::make_tuple(take_decoded(read, read.spec.num_rows),
                        trace ? array_of(read.events) : nb::none());
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
  m.def("decode", &decode, nb::arg("columns"), nb::arg("tables"), nb::arg("buffers"), nb::kw_only(),
        nb::arg("workers"), nb::arg("verify_checksums"), nb::arg("trace"),
        nb::arg("is_compressed_is_wrong"), nb::arg("prefixes_reach_back"), nb::arg("for_polars"),
        nb::arg("page_bytes"), nb::arg("read_bytes"),
        "Decode the pages of one read: gives Decoded, and the events if traced.");
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
