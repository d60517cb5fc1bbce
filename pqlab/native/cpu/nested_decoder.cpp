// Decodes the pages of nested columns: their levels say where they go (nested.hpp), once those of
// the pages before them are known.
#include "bitmap.hpp"
#include "loops.hpp"
#include "page_decoder.hpp"

namespace pq {

u64 PageDecoder::read_nested_levels(const PageTask& task, Body& body, NestedPage& page) {
  const Nesting& nesting = column(task).nesting;
  const u64 count = static_cast<u64>(task.page.num_values);
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
  return bytes;
}

namespace {

// A page's turn to take its place. It comes, and goes, whatever becomes of the page: if the page
// has no place then, those that follow have none.
class Turn {
 public:
  Turn(Read& read, const PageTask& task)
      : read_(read),
        output_(read.columns[read.spec.chunks[task.chunk].column].nested),
        turn_(task.turn) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (is_over_) return;
    wait();
    end(false);
  }

  bool has_come() const { return output_.turn.load(std::memory_order_acquire) == turn_; }

  // False: a page before it has no place.
  bool wait() {
    if (!has_come()) {
      std::unique_lock<std::mutex> lock(read_.mutex);
      read_.page_placed.wait(lock, [&] { return has_come(); });
    }
    return !output_.placing_failed;
  }

  void end(bool is_placed) {
    const std::lock_guard<std::mutex> lock(read_.mutex);
    is_over_ = true;
    if (!is_placed) output_.placing_failed = true;
    output_.turn.store(turn_ + 1, std::memory_order_release);
    read_.page_placed.notify_all();
  }

 private:
  Read& read_;
  NestedOutput& output_;
  const u32 turn_;
  bool is_over_ = false;
};

}  // namespace

void PageDecoder::decode_nested_page(const PageTask& task) {
  Turn turn(*read_, task);
  if (task.has_indices() && !wait_for_dictionary(task)) return;
  const ColumnSpec& spec = column(task);
  ColumnOutput& out = output(task);
  ViewBuffer* kept = task.views_point_into_body() ? view_buffer(task) : nullptr;
  Body body = open(task, kept != nullptr ? kept->owned : page_, nullptr);
  i64 start = now();
  NestedPage page;
  const u64 level_bytes = read_nested_levels(task, body, page);
  Planes planes(spec.nesting, page);
  count_slots(spec.nesting, planes, page);
  const u64 stored = page.num_values;
  record(task, Stage::LEVELS, start, level_bytes, page.repetition.size() + page.definition.size());
  const bool waits = !turn.has_come();
  start = now();
  if (!turn.wait()) return;
  if (waits) record(task, Stage::WAIT, start, 0, 0);
  const KeptRows rows = read_->nested_rows->add(task, page);
  std::vector<PageRange> kept_values;
  if (!rows.all) {
    kept_values = cut(spec.nesting, rows.rows, page);
    planes = Planes(spec.nesting, page);
    count_slots(spec.nesting, planes, page);
  }
  place(*read_, task, page);
  turn.end(true);

  start = now();
  Buffer nulls;
  fill_levels(spec.nesting, planes, page, out.nested, out.validity ? out.validity.data() : nullptr,
              out.null_count, nulls);
  record(task, Stage::ASSEMBLE, start, page.repetition.size() + page.definition.size(),
         page.slots.back() * sizeof(i64) * spec.nesting.max_repetition_level());
  decode_nested_values(task, body, page, stored, kept_values, nulls);
  if (page.count == 0 && spec.type.views() && !task.has_indices()) *view_buffer(task) = {};
  done_with_dictionary(task);
}

// The page's values, of which it stores so many, to their part of the output: at once, if that is
// what they are.
void PageDecoder::decode_nested_values(const PageTask& task, const Body& body,
                                       const NestedPage& page, u64 stored,
                                       const std::vector<PageRange>& kept, const Buffer& nulls) {
  const ColumnSpec& spec = column(task);
  if (spec.type.kind == Kind::NOTHING) return;
  const i64 start = now();
  const bool bits = spec.type.kind == Kind::BITS;
  const u64 stride = spec.type.stride();
  u8* const out = output(task).values.data();
  u8* values = out + page.first_slots.back() * stride;
  if (bits) {
    dense_.zero((stored + 7) / 8);
    values = dense_.data();
  } else if (stored != page.slots.back() || !kept.empty()) {
    values = dense_.reserve(stored * stride);
  }
  decode_values(task, body, stored, values);
  if (!kept.empty()) {
    Buffer kept_bits;
    if (bits) kept_bits = Buffer((page.num_values + 7) / 8, true);
    u64 to = 0;
    for (const PageRange& range : kept) {
      const u64 count = range.stop - range.start;
      if (bits) {
        merge_bits(values, range.start, count, kept_bits.data(), to);
      } else {
        std::memmove(values + to * stride, values + range.start * stride, count * stride);
      }
      to += count;
    }
    if (bits) {
      dense_ = std::move(kept_bits);
      values = dense_.data();
    }
  }
  if (read_->spec.for_polars) check_calendar(spec, values, page.num_values);
  fill_values(spec.type, nulls, page, values, out);
  record(task, Stage::DECODE, start, body.values_size, page.slots.back() * stride);
}

}  // namespace pq
