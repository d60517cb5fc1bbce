// The pages of nested columns: levels and values are kept until the levels of all pages are known,
// then they go to the outputs (nested.hpp).
#include "loops.hpp"
#include "page_decoder.hpp"

namespace pq {

void PageDecoder::read_nested_levels(const PageTask& task, Body& body, NestedPage& page) {
  const Nesting& nesting = column(task).nesting;
  const u64 count = static_cast<u64>(task.page.num_values);
  const i64 start = now();
  u64 bytes = 0;
  const auto read = [&](bool repetition, u32 max_level) {
    Buffer out(count * sizeof(Level));
    auto* to = reinterpret_cast<Level*>(out.data());
    const LevelBytes levels = take_levels(task, body, repetition);
    check_levels(
        levels.bit_packed
            ? loops().levels_from_bit_packed(levels.bytes, levels.size, max_level, count, to)
            : loops().levels_from_rle(levels.bytes, levels.size, max_level, count, to),
        repetition);
    bytes += levels.size;
    return out;
  };
  page.count = count;
  const u32 max_repetition_level = nesting.max_repetition_level();
  if (max_repetition_level > 0) page.repetition = read(true, max_repetition_level);
  page.definition = read(false, nesting.max_definition_level);
  count_slots(nesting, page);
  record(task, Stage::LEVELS, start, bytes, page.repetition.size() + page.definition.size());
}

void PageDecoder::decode_nested_page(const PageTask& task) {
  if (task.has_indices() && !wait_for_dictionary(task)) return;
  const ValueType type = column(task).type;
  ViewBuffer* kept = task.views_point_into_body() ? view_buffer(task) : nullptr;
  Body body = open(task, kept != nullptr ? kept->owned : page_, nullptr);
  NestedPage& page = read_->nested_page(task);
  read_nested_levels(task, body, page);
  const i64 start = now();
  const bool bits = type.kind == Kind::BITS;
  page.values = Buffer(bits ? (page.num_values + 7) / 8 : page.num_values * type.stride(), bits);
  decode_values(task, body, page.num_values, page.values.data());
  record(task, Stage::DECODE, start, body.values_size, page.values.size());
  done_with_dictionary(task);
}

void PageDecoder::assemble(Read& read, const PageTask& task, i32 worker) {
  if (task.page.type == PageType::DICTIONARY_PAGE) return;
  read_ = &read;
  worker_ = worker;
  NestedPage& page = read.nested_page(task);
  const i64 start = now();
  ColumnOutput& out = output(task);
  const ColumnSpec& spec = column(task);
  if (read.spec.for_polars) {
    try {
      check_calendar(spec, page.values.data(), page.num_values);
    } catch (Error& error) {
      error.offset = task.page.offset;
      error.row_group = task.page.row_group;
      error.leaf = task.page.leaf;
      error.page = task.page.page;
      throw;
    }
  }
  fill(spec.nesting, spec.type, page, out.nested, out.values.data(),
       out.validity ? out.validity.data() : nullptr, out.null_count);
  if (page.count == 0 && spec.type.views() && !task.has_indices()) *view_buffer(task) = {};
  record(task, Stage::ASSEMBLE, start,
         page.repetition.size() + page.definition.size() + page.values.size(),
         page.slots.back() * spec.type.stride());
  page = {};
}

}  // namespace pq
