// Spans of a buffer as Arrow's views of variable-length values: as they are, and as text for
// people.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "thread_pool.hpp"
#include "utf8.cuh"
#include "value_text.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutBytes = nb::ndarray<u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr i32 INLINE_BYTES = 12;  // as many stand in a view itself
constexpr int REACH_BITS = 30;    // a view holds 31 bits of an offset: a larger buffer is several
constexpr u64 BLOCK_ROWS = 1 << 14;  // whose texts share a buffer
constexpr const char* ELLIPSIS = "\xe2\x80\xa6";

// Arrow's layout: length, then the value; or length, the first four bytes, buffer, offset there.
struct View {
  i32 length;
  u8 prefix[4];
  i32 buffer;
  i32 offset;
};
static_assert(sizeof(View) == 16, "Arrow's layout");

struct Spans {
  const u8* data;
  i64 size;
  const i64* start;
  const i32* length;
  u64 count;

  bool has(u64 row) const {
    return start[row] >= 0 && length[row] >= 0 && start[row] <= size - length[row];
  }
};

View view_of(const void* value, i32 length, i32 buffer, i64 offset) {
  View view{length, {}, 0, 0};
  if (length > INLINE_BYTES) {
    std::memcpy(view.prefix, value, sizeof view.prefix);
    view.buffer = buffer;
    view.offset = static_cast<i32>(offset);
  } else if (length > 0) {
    std::memcpy(view.prefix, value, static_cast<size_t>(length));
  }
  return view;
}

// Of bytes at `start` of the data, whose parts of 1 << REACH_BITS bytes are buffers `first` on.
View view_of_data(const Spans& spans, i64 start, i32 length, i32 first) {
  const i64 part = start >> REACH_BITS;
  return view_of(spans.data + start, length, first + static_cast<i32>(part),
                 start - (part << REACH_BITS));
}

// How many bytes of a string are shown; -1 where they are not UTF-8.
i32 shown_bytes(const Spans& spans, u64 row) {
  const u8* value = spans.data + spans.start[row];
  const i32 length = spans.length[row];
  const u64 readable = static_cast<u64>(spans.size - spans.start[row]);
  if (length <= MAX_TEXT_CHARACTERS) {
    const u64 size = static_cast<u64>(length);
    return utf8_valid_up_to(value, size, readable) == size ? length : -1;
  }
  u64 at = 0;
  for (i32 shown = 0; shown < MAX_TEXT_CHARACTERS && at < static_cast<u64>(length); ++shown) {
    const u64 size = utf8::character(value + at, static_cast<u64>(length) - at);
    if (size == 0) return -1;
    at += size;
  }
  return static_cast<i32>(at);
}

// Texts of a block of rows; those that do not fit into a view are appended to `texts`.
class TextBlock {
 public:
  TextBlock(const Spans& spans, i32 number, i32 first_part)
      : spans_(spans), number_(number), first_part_(first_part) {}

  View write(const TextFormat& format, u64 row) {
    const u8* value = spans_.data + spans_.start[row];
    const i32 length = spans_.length[row];
    char text[MAX_TEXT_BYTES + 1];
    if (format.kind != TextKind::STRING) {
      return keep(text, write_value_text(format, value, length, text));
    }
    const i32 shown = shown_bytes(spans_, row);
    if (shown < 0) return keep(text, write_hexadecimal(value, length, text));
    if (shown == length) return view_of_data(spans_, spans_.start[row], length, first_part_);
    std::memcpy(text, value, static_cast<size_t>(shown));
    std::memcpy(text + shown, ELLIPSIS, 3);
    return keep(text, shown + 3);
  }

  std::string texts;

 private:
  View keep(const char* text, i32 length) {
    const i64 offset = static_cast<i64>(texts.size());
    if (length > INLINE_BYTES) texts.append(text, static_cast<size_t>(length));
    return view_of(text, length, number_, offset);
  }

  const Spans& spans_;
  i32 number_;
  i32 first_part_;
};

Spans spans_of(const Array<u8>& data, const Array<i64>& start, const Array<i32>& length) {
  if (length.shape(0) != start.shape(0)) throw nb::value_error("as many lengths as starts");
  return {data.data(), static_cast<i64>(data.shape(0)), start.data(), length.data(),
          start.shape(0)};
}

// The caller's memory: numpy asks for huge pages where there is much of it.
template <class T>
T* memory_of(const OutBytes& out, u64 count) {
  if (out.shape(0) != count * sizeof(T)) throw nb::value_error("memory of the wrong size");
  return reinterpret_cast<T*>(out.data());
}

void binary_views(const Array<u8>& data, const Array<i64>& start, const Array<i32>& length,
                  const OutBytes& out) {
  const Spans spans = spans_of(data, start, length);
  View* views = memory_of<View>(out, spans.count);
  const nb::gil_scoped_release released;
  for (u64 row = 0; row < spans.count; ++row) {
    views[row] =
        spans.has(row) ? view_of_data(spans, spans.start[row], spans.length[row], 0) : View{};
  }
}

nb::list text_views(const Array<u8>& data, const Array<i64>& start, const Array<i32>& length,
                    const Array<i32>& leaf, const Array<u8>& leaf_formats, const OutBytes& out,
                    const OutBytes& out_checks, u32 workers) {
  const Spans spans = spans_of(data, start, length);
  if (leaf.shape(0) != spans.count) throw nb::value_error("as many leaves as starts");
  std::vector<TextFormat> formats(leaf_formats.shape(0) / sizeof(TextFormat));
  if (!formats.empty()) {  // memcpy takes no null, not even for no bytes
    std::memcpy(formats.data(), leaf_formats.data(), formats.size() * sizeof(TextFormat));
  }
  View* views = memory_of<View>(out, spans.count);
  ValueCheck* checks = memory_of<ValueCheck>(out_checks, spans.count);
  const i32* leaves = leaf.data();
  const u64 num_blocks = (spans.count + BLOCK_ROWS - 1) / BLOCK_ROWS;
  std::vector<std::string> texts(num_blocks);
  const auto write_block = [&](u64 number, i32) {
    TextBlock block(spans, static_cast<i32>(number), static_cast<i32>(num_blocks));
    const u64 end = std::min(spans.count, (number + 1) * BLOCK_ROWS);
    for (u64 row = number * BLOCK_ROWS; row < end; ++row) {
      const u64 column = static_cast<u64>(leaves[row]);
      const bool is_there = spans.has(row) && column < formats.size();
      checks[row] =
          is_there ? check_value(formats[column], spans.data + spans.start[row], spans.length[row])
                   : ValueCheck::NONE;
      views[row] = is_there ? block.write(formats[column], row) : View{};
    }
    texts[number] = std::move(block.texts);
  };
  {
    const nb::gil_scoped_release released;
    run_tasks(num_blocks, workers, num_blocks == 1, write_block);
  }
  nb::list buffers;
  for (const std::string& text : texts) buffers.append(nb::bytes(text.data(), text.size()));
  return buffers;
}

}  // namespace

void bind_spans(nb::module_& m) {
  m.attr("SPAN_REACH_BYTES") = i64{1} << REACH_BITS;
  m.def("binary_views", &binary_views, nb::arg("data"), nb::arg("start"), nb::arg("length"),
        nb::arg("out"),
        "Arrow's views of spans; buffer i is the data from i * SPAN_REACH_BYTES on.");
  m.def("text_views", &text_views, nb::arg("data"), nb::arg("start"), nb::arg("length"),
        nb::arg("leaf"), nb::arg("leaf_formats"), nb::arg("out"), nb::arg("out_checks"),
        nb::arg("workers"),
        "Arrow's views of the spans' texts, and a ValueCheck for each span; returns the buffers "
        "that the views use before those of the data.");
}

}  // namespace pq
