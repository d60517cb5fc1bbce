// What a read on a device needs of the host: its pages found and checked, their bytes staged, its
// errors with their places, and its results as Decoded.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "bindings.hpp"
#include "bitmap.hpp"
#include "codecs.hpp"
#include "decode_bindings.hpp"
#include "page_decoder.hpp"
#include "status.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const u64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Levels = nb::ndarray<const u16, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, u8, nb::ndim<1>>;

// The rows of a vector, as bytes.
template <class Row>
nb::object bytes_of(const std::vector<Row>& rows) {
  const u64 size = rows.size() * sizeof(Row);
  auto owner = std::make_unique<Buffer>(size);
  if (size != 0) std::memcpy(owner->data(), rows.data(), size);
  u8* data = owner->data();
  return nb::cast(Array(data, {size}, nb::capsule(owner.release(), [](void* p) noexcept {
                          delete static_cast<Buffer*>(p);
                        })));
}

// A numpy array as a Buffer; None: none.
Buffer buffer_of(nb::handle array) {
  if (array.is_none()) return {};
  const auto bytes = nb::cast<Bytes>(array);
  return {bytes.data(), bytes.size(), keep(array)};
}

Error placed(Error error, const PageTask& task) {
  if (error.offset < 0) error.offset = task.page.offset;
  error.row_group = task.page.row_group;
  error.leaf = task.page.leaf;
  error.page = task.page.page;
  return error;
}

// Calls use(), whose errors are of the page.
template <class Use>
void with_place(const PageTask& task, Use&& use) {
  try {
    use();
  } catch (Error& error) {
    throw placed(std::move(error), task);
  }
}

u64 staged_bytes(const PageTask& task, bool on_device) {
  return on_device ? task.body_bytes() : static_cast<u64>(task.page.uncompressed_page_size);
}

// Views of text to codes of its distinct values, 0 where there is none.
void encode(ColumnOutput& column, u64 count) {
  const auto* views = reinterpret_cast<const View*>(column.values.data());
  column.words = std::make_unique<Words>();
  Buffer codes(count * sizeof(u32), true);
  const auto is_valid = [&](u64 i) {
    return !column.validity || get_bit(column.validity.data(), i);
  };
  for (u64 i = 0; i < count;) {
    if (!is_valid(i)) {
      ++i;
      continue;
    }
    // As many as point into one buffer.
    const u64 first = i;
    const u8* bytes = nullptr;
    u32 buffer = 0;
    for (; i < count && is_valid(i); ++i) {
      if (views[i].length <= MAX_INLINE_LENGTH) continue;
      if (bytes != nullptr && views[i].data[1] != buffer) break;
      buffer = views[i].data[1];
      bytes = column.view_buffers.at(buffer).owned.data();
    }
    column.words->look_up(bytes, views + first, i - first,
                          reinterpret_cast<u32*>(codes.data()) + first);
  }
  column.values = std::move(codes);
  column.view_buffers.clear();
  column.sort_words();
}

// Rows [start, stop) of a page of a nested column, from its first entry's row on, that are kept.
struct Kept {
  u64 page;
  u64 start;
  u64 stop;
};

class DevicePages {
 public:
  explicit DevicePages(ReadSpec spec) : spec_(std::move(spec)), read_(spec_) {
    for (FileRun& run : spec_.runs) {
      run.piece = spec_.fetch.find(run.offset, run.offset + static_cast<i64>(run.size));
      const Piece& piece = spec_.fetch.pieces[run.piece];
      run.data = piece.data + (run.offset - piece.start);
    }
    find_pages(read_);
    check_read_bytes(read_, nested_page_bytes(read_), 0);
    planned_bytes_ = read_.decoded_bytes;
    read_.nested_pages = std::vector<NestedPage>(read_.tasks.size());
  }

  // One value of each page.
  template <class Value>
  nb::object each(Value&& value) const {
    std::vector<decltype(value(read_.tasks[0]))> values;
    for (const PageTask& task : read_.tasks) values.push_back(value(task));
    return bytes_of(values);
  }

  nb::object pages() const {
    return each([](const PageTask& task) { return task.page; });
  }
  nb::object chunks() const {
    return each([](const PageTask& task) { return task.chunk; });
  }
  nb::object view_buffers() const {
    return each([](const PageTask& task) { return task.view_buffer; });
  }
  nb::object values_before() const {
    std::vector<u32> of_values(read_.last_values.size());  // 1 + the page
    for (u64 i = 0; i < read_.tasks.size(); ++i) {
      const u32 own = read_.tasks[i].last_value;
      if (own != 0) of_values[own] = static_cast<u32>(i) + 1;
    }
    return each([&](const PageTask& task) -> u32 {
      return task.value_before == 0 ? 0 : of_values[task.value_before];
    });
  }
  nb::object compressed() const {
    return each(
        [this](const PageTask& task) -> u8 { return stored_body(spec_, task).compressed ? 1 : 0; });
  }

  // Each page's body to out[to[i]..]: levels that are never compressed, then its values, which are
  // left compressed where a device is to decompress them.
  void stage(const Places& to, const Flags& on_device, const Bytes& out) const {
    const u64 count = read_.tasks.size();
    if (to.size() != count || on_device.size() != count) throw nb::value_error("a place a page");
    for (u64 i = 0; i < count; ++i) {
      const u64 size = staged_bytes(read_.tasks[i], on_device(i));
      if (to(i) > out.size() || size > out.size() - to(i)) {
        throw nb::index_error("a page beyond the memory for it");
      }
    }
    const nb::gil_scoped_release release;
    run_tasks(count, spec_.workers, count == 1, [&](u64 i, i32) {
      const PageTask& task = read_.tasks[i];
      with_place(task, [&] { stage_page(task, on_device(i), out.data() + to(i)); });
    });
  }

  // Throws what a status word of a page means, as the CPU engine does. `stage`: which kernels it is
  // of (pqlab/gpu/work.py).
  void fail(u64 page, const std::string& stage, StatusWord word) const {
    const PageTask& task = read_.tasks.at(page);
    with_place(task, [&] {
      if (stage == "block") check_block(spec_.chunks[task.chunk].codec, word);
      if (stage == "repetition level") check_levels(word, true);
      if (stage == "definition level") check_levels(word, false);
      if (stage == "order") throw order_error(where_of(word) >> 16, where_of(word) & 0xffff);
      check(word, read_.column(task).type);
    });
  }

  // Throws where what prefixes of a page unfold to is above the limits.
  void check_joined_bytes(u64 page, u64 size) {
    with_place(read_.tasks.at(page), [&] { check_joined(read_, read_.tasks[page], size); });
  }

  // Of each page of a nested column, in which rows kept entries lie; by page, then by row. Given
  // are, of each page, the rows that begin in it and the outermost levels.
  nb::object kept(const Places& rows, const Levels& first_repetition,
                  const Levels& last_definition) {
    const u64 count = read_.tasks.size();
    if (rows.size() != count || first_repetition.size() != count ||
        last_definition.size() != count) {
      throw nb::value_error("a row a page");
    }
    for (u64 i = 0; i < count; ++i) {
      NestedPage& page = read_.nested_pages[i];
      page.count = static_cast<u64>(read_.tasks[i].page.num_values);
      page.slots = {rows(i)};
      page.first_repetition = first_repetition(i);
      page.last_definition = last_definition(i);
    }
    const std::vector<PageCut> cuts = find_nested_rows(read_);
    std::vector<Kept> kept;
    auto cut = cuts.begin();
    for (u64 i = 0; i < count; ++i) {
      if (cut == cuts.end() || cut->task != i) {
        kept.push_back({i, 0, ~0ull});
      } else {
        for (const PageRange& range : cut->rows) kept.push_back({i, range.start, range.stop});
        ++cut;
      }
    }
    return bytes_of(kept);
  }

  // `slots`: of each page of a nested column, for each depth, how many kept slots begin in it.
  void lay_out(const nb::list& slots) {
    if (slots.size() != read_.tasks.size()) throw nb::value_error("slots of each page");
    for (u64 i = 0; i < slots.size(); ++i) {
      const PageTask& task = read_.tasks[i];
      const Nesting& nesting = read_.column(task).nesting;
      if (!nesting.nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
      std::vector<u64>& of_page = read_.nested_pages[i].slots;
      of_page.clear();
      for (nb::handle count : slots[i]) of_page.push_back(nb::cast<u64>(count));
      if (of_page.size() != nesting.list_levels.size()) throw nb::value_error("slots a depth");
    }
    lay_out_nested(read_);
    check_read_bytes(read_, nested_output_bytes(read_), read_.decoded_bytes - planned_bytes_);
  }

  // `columns`: of each leaf (values, validity or None, view buffers, offsets, groups' bits), arrays
  // of bytes; whoever has what comes of them keeps them.
  Decoded decoded(const nb::list& columns) {
    if (columns.size() != read_.columns.size()) throw nb::value_error("a tuple a leaf");
    for (u64 i = 0; i < columns.size(); ++i) take(nb::cast<nb::tuple>(columns[i]), i);
    const nb::gil_scoped_release release;
    if (spec_.for_polars) check_calendars();
    agree(read_);
    return take_decoded(read_, spec_.num_rows);
  }

 private:
  void stage_page(const PageTask& task, bool on_device, u8* to) const {
    check_checksum(spec_, task);
    const StoredBody body = stored_body(spec_, task);
    body.check();
    if (on_device || !body.compressed) {
      if (task.body_bytes() != 0) std::memcpy(to, task.body, task.body_bytes());
      return;
    }
    if (body.levels_size != 0) std::memcpy(to, task.body, body.levels_size);
    static thread_local Decompressor decompressor;
    decompressor.decompress(spec_.chunks[task.chunk].codec, body.stored, body.stored_size,
                            to + body.levels_size, body.values_size);
  }

  void take(const nb::tuple& from, u64 column) {
    ColumnOutput& to = read_.columns[column];
    const Nesting& nesting = spec_.columns()[column].nesting;
    const u64 rows = nesting.nested ? to.nested.slots.back() : static_cast<u64>(spec_.num_rows);
    to.values = buffer_of(from[0]);
    to.validity = buffer_of(from[1]);
    if (to.validity) to.null_count = nulls(to.validity, rows);
    to.view_buffers = std::vector<ViewBuffer>(to.num_view_buffers);
    const auto views = nb::cast<nb::list>(from[2]);
    for (u64 i = 0; i < std::min<u64>(views.size(), to.num_view_buffers); ++i) {
      to.view_buffers[i].owned = buffer_of(views[i]);
    }
    if (spec_.columns()[column].type.kind == Kind::CODES) encode(to, rows);
    for (nb::handle offsets : nb::cast<nb::list>(from[3])) {
      to.nested.offsets.push_back(buffer_of(offsets));
    }
    const auto groups = nb::cast<nb::list>(from[4]);
    if (to.nested.offsets.size() + 1 < to.nested.slots.size() ||
        groups.size() != nesting.groups.size()) {
      throw nb::value_error("offsets and groups as the column has");
    }
    to.nested.groups = std::vector<BitmapOutput>(groups.size());
    for (u64 i = 0; i < groups.size(); ++i) {
      BitmapOutput& group = to.nested.groups[i];
      group.bits = buffer_of(groups[i]);
      group.null_count = nulls(group.bits, to.nested.slots[nesting.groups[i].depth]);
    }
  }

  static i64 nulls(const Buffer& bits, u64 count) {
    if (bits.size() * 8 < count) throw nb::value_error("a bitmap of fewer bits");
    return static_cast<i64>(count - count_bits(bits.data(), 0, count));
  }

  void check_calendars() {
    for (const PageTask& task : read_.tasks) {
      const ColumnSpec& column = read_.column(task);
      if (!column.calendar.is_bounded() || task.page.type == PageType::DICTIONARY_PAGE) continue;
      const u8* values = read_.columns[spec_.chunks[task.chunk].column].values.data();
      const auto check = [&](u64, u64 count, u64 at) {
        check_calendar(column, values + at * column.type.stride(), count);
      };
      with_place(task, [&] {
        if (!column.nesting.nested) return for_each_piece(spec_, task, check);
        const NestedPage& page = read_.nested_page(task);
        check(0, page.slots.back(), page.first_slots.back());
      });
    }
  }

  ReadSpec spec_;
  Read read_;
  u64 planned_bytes_ = 0;
};

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<DevicePages>(m, "DevicePages", "The pages of a read that a device decodes.")
      .def(
          "__init__",
          [](DevicePages* self, const Columns& columns, const nb::tuple& tables,
             const nb::sequence& buffers, u32 workers, bool verify_checksums,
             bool is_compressed_is_wrong, bool prefixes_reach_back, bool for_polars, i64 page_bytes,
             i64 read_bytes) {
            ReadSpec spec = read_spec(columns, tables, buffers);
            spec.workers = std::clamp(workers, 1u, MAX_WORKERS);
            spec.verify_checksums = verify_checksums;
            spec.is_compressed_is_wrong = is_compressed_is_wrong;
            spec.prefixes_reach_back = prefixes_reach_back;
            spec.for_polars = for_polars;
            spec.max_page_bytes = page_bytes;
            spec.max_read_bytes = read_bytes;
            new (self) DevicePages(std::move(spec));
          },
          nb::arg("columns"), nb::arg("tables"), nb::arg("buffers"), nb::kw_only(),
          nb::arg("workers"), nb::arg("verify_checksums"), nb::arg("is_compressed_is_wrong"),
          nb::arg("prefixes_reach_back"), nb::arg("for_polars"), nb::arg("page_bytes"),
          nb::arg("read_bytes"))
      .def_prop_ro("pages", &DevicePages::pages,
                   "Rows of dtype PAGE; a chunk's dictionary comes before its other pages.")
      .def_prop_ro("chunks", &DevicePages::chunks, "The chunk of each page, as u32.")
      .def_prop_ro("view_buffers", &DevicePages::view_buffers,
                   "Of each page the buffer of its column that views point into, as u32.")
      .def_prop_ro("values_before", &DevicePages::values_before,
                   "Of each page 1 + the page whose last value its first prefix may be of, as u32.")
      .def_prop_ro("compressed", &DevicePages::compressed, "Whether each page is, as u8.")
      .def("stage", &DevicePages::stage, nb::arg("to"), nb::arg("on_device"), nb::arg("out"))
      .def("fail", &DevicePages::fail, nb::arg("page"), nb::arg("stage"), nb::arg("word"))
      .def("check_joined", &DevicePages::check_joined_bytes, nb::arg("page"), nb::arg("size"))
      .def("kept", &DevicePages::kept, nb::arg("rows"), nb::arg("first_repetition"),
           nb::arg("last_definition"), "(page, start, stop), each u64: rows within pages.")
      .def("lay_out", &DevicePages::lay_out, nb::arg("slots"))
      .def("decoded", &DevicePages::decoded, nb::arg("columns"));
}

}  // namespace pq
