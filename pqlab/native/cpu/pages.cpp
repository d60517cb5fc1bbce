// Python's face of the page index and of the page header walk.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>

#include "bindings.hpp"
#include "page_index.hpp"
#include "page_walk.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OwnedBytes = nb::ndarray<nb::numpy, u8, nb::ndim<1>>;

// malloc'd bytes as an array that frees them.
OwnedBytes own(void* data, u64 size) {
  nb::capsule owner(data, [](void* pointer) noexcept { std::free(pointer); });
  return OwnedBytes(static_cast<u8*>(data), {static_cast<size_t>(size)}, owner);
}

OwnedBytes copy(const void* data, u64 size) {
  void* bytes = std::malloc(size > 0 ? size : 1);
  if (bytes == nullptr) throw std::bad_alloc();
  if (size > 0) std::memcpy(bytes, data, size);
  return own(bytes, size);
}

nb::tuple page_index(const Bytes& data, const Bytes& chunks, u64 max_pages, unsigned threads) {
  const u64 num_chunks = chunks.shape(0) / sizeof(IndexedChunk);
  std::vector<IndexedChunk> rows(num_chunks);
  if (num_chunks > 0) std::memcpy(rows.data(), chunks.data(), num_chunks * sizeof(IndexedChunk));
  PageIndexResult result;
  {
    const nb::gil_scoped_release released;
    result =
        parse_page_index(data.data(), data.shape(0), rows.data(), num_chunks, max_pages, threads);
  }
  OwnedBytes pages = own(result.pages, result.num_pages * sizeof(Page));
  nb::list refused;
  for (const RefusedIndex& index : result.refused) {
    refused.append(
        nb::make_tuple(index.chunk, index.is_offset_index, index.page, index.field, index.message));
  }
  return nb::make_tuple(pages, refused);
}

// The state of a walk between its windows; a value in Python's hands.
nb::tuple walk(const Bytes& window, i64 window_start, WalkState& state) {
  const i64 window_stop = window_start + static_cast<i64>(window.shape(0));
  if (state.position < window_start || state.position > window_stop)
    throw nb::value_error("the window does not cover the walk's position");
  WalkResult result;
  {
    const nb::gil_scoped_release released;
    result = walk_page_headers(window.data(), window.shape(0), window_start, state);
  }
  return nb::make_tuple(static_cast<int>(result.end),
                        copy(result.pages.data(), result.pages.size() * sizeof(Page)),
                        copy(result.statistics.data(), result.statistics.size()),
                        result.unknown_pages, result.passed_over_fields, result.warning);
}

}  // namespace

void bind_pages(nb::module_& m) {
  m.def(
      "page_index", &page_index, nb::arg("data"), nb::arg("chunks"), nb::arg("max_pages"),
      nb::arg("threads"),
      "Offset and column indexes of many chunks: (rows of dtype PAGE as uint8, refused indexes).");

  nb::class_<WalkState>(m, "PageWalk", "Where a walk over the page headers of a chunk stands.")
      .def(
          "__init__",
          [](WalkState* self, i64 start, i64 stop, i64 hard_stop, i64 num_values, i32 row_group,
             i32 leaf, bool flat) {
            new (self) WalkState{start,     stop, hard_stop, num_values, num_values, 0,
                                 row_group, leaf, 0,         flat,       false};
          },
          nb::arg("start"), nb::arg("stop"), nb::arg("hard_stop"), nb::arg("num_values"),
          nb::arg("row_group"), nb::arg("leaf"), nb::arg("flat"))
      .def_ro("position", &WalkState::position, "Where the next header starts in the file.")
      .def_ro("stop", &WalkState::stop)
      .def_ro("hard_stop", &WalkState::hard_stop, "What no page may pass.")
      .def_ro("num_values", &WalkState::num_values)
      .def_ro("values_left", &WalkState::values_left)
      .def_ro("num_pages", &WalkState::page, "Data pages seen.")
      .def(
          "walk",
          [](WalkState& self, const Bytes& window, i64 window_start) {
            return walk(window, window_start, self);
          },
          nb::arg("window"), nb::arg("window_start"),
          "Walk a window: (end, rows, statistics, unknown pages, fields passed over, warning).");
}

}  // namespace pq
