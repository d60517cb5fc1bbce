#include "page_decoder.hpp"

#include "bitmap.hpp"
#include "clock.hpp"
#include "loops.hpp"
#include "status.hpp"

namespace pq {
namespace {

constexpr u64 KEPT_SCRATCH_BYTES = 256 << 10;

}  // namespace

Error value_error(StatusWord word, const ValueType& type) {
  Error error = error_of(word, "value");
  const bool int96 = type.kind == Kind::INT96_NS && status_of(word) == Status::RANGE;
  if (int96) error.hint = "Pass int96_unit=\"us\" to read INT96 as microseconds";
  if (status_of(word) == Status::UTF8) {
    error.hint = "Pass invalid_utf8=\"binary\" to read text as bytes";
  }
  return error;
}

void check(StatusWord word, const ValueType& type) {
  if (word != STATUS_OK) throw value_error(word, type);
}

void drop_if_unused(ViewBuffer* kept, const u8* views, u64 count) {
  if (kept != nullptr && !loops().any_view_outside(views, count)) *kept = {};
}

void check_levels(StatusWord word, bool repetition) {
  if (word != STATUS_OK) throw error_of(word, repetition ? "repetition level" : "definition level");
}

PageDecoder& PageDecoder::of_this_thread() {
  static thread_local PageDecoder decoder;
  return decoder;
}

const ColumnSpec& PageDecoder::column(const PageTask& task) const { return read_->column(task); }

ColumnOutput& PageDecoder::output(const PageTask& task) const {
  return read_->columns[read_->spec.chunks[task.chunk].column];
}

// Where a page's values go if they are all wanted, one after the other; else nullptr.
u8* PageDecoder::whole_target(const PageTask& task) const {
  const u64 stride = column(task).type.stride();
  u8* target = nullptr;
  for_each_piece(read_->spec, task, [&](u64, u64 count, u64 out_row) {
    if (stride != 0 && count == static_cast<u64>(task.page.num_values)) {
      target = output(task).values.data() + out_row * stride;
    }
  });
  return target;
}

// The buffer that views into the page will count on; nullptr: none do.
ViewBuffer* PageDecoder::view_buffer(const PageTask& task) const {
  return column(task).type.views() ? &output(task).view_buffers[task.view_buffer] : nullptr;
}

i64 PageDecoder::now() const { return read_->spec.trace ? now_ns() : 0; }

void PageDecoder::record(const PageTask& task, Stage stage, i64 start_ns, u64 bytes_in,
                         u64 bytes_out) {
  record(task, stage, start_ns, now(), bytes_in, bytes_out);
}

void PageDecoder::record(const PageTask& task, Stage stage, i64 start_ns, i64 stop_ns, u64 bytes_in,
                         u64 bytes_out) {
  if (!read_->spec.trace) return;
  Event event;
  event.start_ns = start_ns;
  event.duration_ns = stop_ns - start_ns;
  event.offset = task.page.offset;
  event.bytes_in = static_cast<i64>(bytes_in);
  event.bytes_out = static_cast<i64>(bytes_out);
  event.values = task.page.num_values;
  event.row_group = task.page.row_group;
  event.leaf = task.page.leaf;
  event.page = task.page.page;
  event.length = task.page.total_bytes;
  event.worker = static_cast<i16>(worker_);
  event.stage = stage;
  event.encoding = task.page.encoding;
  event.codec = static_cast<i8>(read_->spec.chunks[task.chunk].codec);
  read_->events[static_cast<u64>(std::max(worker_, 0))].push_back(event);
}

// What is known of a recorded task when it ends goes into its last event. A worker's page faults
// are counted from the end of its last task of the read on: the kernel is asked once a task.
template <class Work>
void PageDecoder::counted(Work&& work) {
  if (!read_->spec.trace) return work();
  const i64 start_ns = now();
  if (faults_read_ != read_->id) faults_ = thread_page_faults();
  faults_read_ = read_->id;
  std::vector<Event>& events = read_->events[static_cast<u64>(std::max(worker_, 0))];
  const std::size_t before = events.size();
  work();
  const i64 faults = thread_page_faults();
  if (events.size() > before) {
    events.back().queued_ns = start_ns - read_->queued_at_ns;
    events.back().page_faults = static_cast<i32>(faults - faults_);
  }
  faults_ = faults;
}

void PageDecoder::decode(Read& read, const PageTask& task, i32 worker) {
  read_ = &read;
  worker_ = worker;
  try {
    counted([&] {
      if (task.page.type == PageType::DICTIONARY_PAGE) {
        decode_dictionary_page(task);
      } else if (task.last_value != 0) {
        decode_page_with_last_value(task);
      } else {
        decode_page(task);
      }
    });
  } catch (Error& error) {
    if (error.offset < 0) error.offset = task.page.offset;
    error.row_group = task.page.row_group;
    error.leaf = task.page.leaf;
    error.page = task.page.page;
    throw;
  }
  for (Buffer* scratch : {&page_, &validity_, &dense_, &bytes_, &texts_, &lengths_, &values_}) {
    if (scratch->size() > KEPT_SCRATCH_BYTES) *scratch = Buffer();
  }
}

void PageDecoder::decode_dictionary_page(const PageTask& task) {
  Dictionary& dictionary = read_->dictionaries[task.chunk];
  const ValueType type = column(task).type;
  const auto finish = [&](Dictionary::State state) {
    const std::lock_guard<std::mutex> lock(read_->mutex);
    dictionary.state = state;
    read_->dictionary_done.notify_all();
  };
  try {
    const u64 count = static_cast<u64>(task.page.num_values);
    ViewBuffer* kept = view_buffer(task);
    const Body body = open(task, kept != nullptr ? kept->owned : page_, nullptr);
    const i64 start = now();
    const u64 most = max_plain_values(type, body.values_size);
    if (count > most) check(status_word(Status::TRUNCATED, most), type);
    dictionary.entries = Buffer(count * entry_bytes(type));
    const ViewPlace place = place_of(task, kept, body);
    u8* decoded = decode_target(task, count, dictionary.entries.data());
    check(loops().decode_entries(type.decoded(), body.values, body.values_size, count, place,
                                 decoded),
          type);
    finish_text(task, body.values, decoded, count, dictionary.entries.data());
    dictionary.num_entries = count;
    dictionary.is_in_calendar = is_in_calendar(column(task), dictionary.entries.data(), count);
    record(task, Stage::DECODE, start, body.values_size, dictionary.entries.size());
  } catch (...) {
    finish(Dictionary::State::FAILED);
    throw;
  }
  finish(Dictionary::State::READY);
}

bool PageDecoder::wait_for_dictionary(const PageTask& task) {
  Dictionary& dictionary = read_->dictionaries[task.chunk];
  if (dictionary.state == Dictionary::State::PENDING) {
    const i64 start = now();
    std::unique_lock<std::mutex> lock(read_->mutex);
    read_->dictionary_done.wait(lock,
                                [&] { return dictionary.state != Dictionary::State::PENDING; });
    lock.unlock();
    record(task, Stage::WAIT, start, 0, 0);
  }
  return dictionary.state != Dictionary::State::FAILED;
}

// The levels of a page; a v1 body, which they begin, is moved past them.
PageDecoder::LevelBytes PageDecoder::take_levels(const PageTask& task, Body& body,
                                                 bool repetition) const {
  const Page& page = task.page;
  if (page.type == PageType::DATA_PAGE_V2) return repetition ? body.repetition : body.definition;
  const i8 encoding = repetition ? page.repetition_level_encoding : page.definition_level_encoding;
  LevelBytes levels;
  levels.bit_packed = static_cast<Encoding>(encoding) == Encoding::BIT_PACKED;
  if (levels.bit_packed) {
    const ColumnSpec& spec = column(task);
    const u32 width =
        bit_width(repetition ? spec.nesting.max_repetition_level() : spec.max_definition_level);
    const u64 size = packed_bytes(static_cast<u64>(page.num_values), width);
    levels.size = std::min(size, body.values_size);
  } else {
    if (body.values_size < sizeof(u32)) check_levels(status_word(Status::TRUNCATED, 0), repetition);
    levels.size = load<u32>(body.values);
    body.values += sizeof(u32);
    body.values_size -= sizeof(u32);
    if (levels.size > body.values_size) {
      check_levels(status_word(Status::TRUNCATED, 0), repetition);
    }
  }
  levels.bytes = body.values;
  body.values += levels.size;
  body.values_size -= levels.size;
  return levels;
}

// Reads the definition levels into validity_. Gives the number of values that are there.
u64 PageDecoder::read_levels(const PageTask& task, Body& body) {
  const u64 count = static_cast<u64>(task.page.num_values);
  const u32 max_level = column(task).max_definition_level;
  if (max_level == 0) return count;
  const i64 start = now();
  validity_.zero((count + 7) / 8 + sizeof(u64));
  u8* validity = validity_.data();
  const LevelBytes levels = take_levels(task, body, false);
  check_levels(
      levels.bit_packed
          ? loops().validity_from_bit_packed(levels.bytes, levels.size, max_level, count, validity)
          : loops().validity_from_rle(levels.bytes, levels.size, max_level, count, validity));
  record(task, Stage::LEVELS, start, levels.size, (count + 7) / 8);
  return count_bits(validity, 0, count);
}

// Where values that are made PLAIN first go: to `out` itself, if those are what it holds.
u8* PageDecoder::plain_target(const PageTask& task, u64 size, u8* out) {
  if (column(task).type.copies()) return out;
  ViewBuffer* kept = view_buffer(task);
  if (kept == nullptr) return bytes_.reserve(size);
  kept->owned = Buffer(size);
  return kept->owned.data();
}

// Where decoded values go: to `out`, but for texts that are looked up first.
u8* PageDecoder::decode_target(const PageTask& task, u64 count, u8* out) {
  const bool coded = column(task).type.kind == Kind::CODES;
  return coded ? texts_.reserve(count * sizeof(View)) : out;
}

// What decode_target got, whose views count from `bytes` on, is what `out` is to hold; or becomes
// it.
void PageDecoder::finish_text(const PageTask& task, const u8* bytes, const u8* decoded, u64 count,
                              u8* out) {
  if (decoded == out) return drop_if_unused(view_buffer(task), out, count);
  output(task).words->look_up(bytes, reinterpret_cast<const View*>(decoded), count,
                              reinterpret_cast<u32*>(out));
}

// PLAIN values in plain_target to `out`.
void PageDecoder::finish_plain(const PageTask& task, const u8* plain, u64 size, u64 count,
                               u8* out) {
  if (plain == out) return;
  const ValueType type = column(task).type;
  check(loops().decode_plain(type, plain, size, count, {task.view_buffer, 0}, out), type);
  drop_if_unused(view_buffer(task), out, count);
}

void PageDecoder::decode_byte_streams(const PageTask& task, const Body& body, u64 count, u8* out) {
  const ValueType type = column(task).type;
  const u64 most = body.values_size / type.width;
  if (count > most) check(status_word(Status::TRUNCATED, most), type);
  const u64 size = count * type.width;
  u8* plain = plain_target(task, size, out);
  check(loops().join_streams(type, body.values, body.values_size, count, plain), type);
  finish_plain(task, plain, size, count, out);
}

void PageDecoder::decode_values(const PageTask& task, const Body& body, u64 count, u8* out) {
  const ValueType type = column(task).type;
  if (type.kind == Kind::NOTHING) return;  // what should not be there is not looked at
  switch (static_cast<Encoding>(task.page.encoding)) {
    case Encoding::PLAIN: {
      ViewBuffer* kept = view_buffer(task);
      const ViewPlace place = place_of(task, kept, body);
      u8* to = decode_target(task, count, out);
      check(loops().decode_plain(type.decoded(), body.values, body.values_size, count, place, to),
            type);
      return finish_text(task, body.values, to, count, out);
    }
    case Encoding::BYTE_STREAM_SPLIT: return decode_byte_streams(task, body, count, out);
    case Encoding::DELTA_BINARY_PACKED:
    case Encoding::ALP: return decode_numbers(task, body, count, out);
    case Encoding::DELTA_LENGTH_BYTE_ARRAY: return decode_delta_lengths(task, body, count, out);
    case Encoding::DELTA_BYTE_ARRAY: return decode_prefixes(task, body, count, out);
    case Encoding::RLE:
      check(loops().decode_rle_booleans(body.values, body.values_size, count, out), type);
      return;
    default: break;
  }
  const Dictionary& dictionary = read_->dictionaries[task.chunk];
  if (count == 0) return;
  if (dictionary.state == Dictionary::State::ABSENT) {
    check(status_word(Status::NO_DICTIONARY, 0), type);
  }
  const bool bits = type.kind == Kind::BITS;
  u8* entries = bits ? bytes_.reserve(count) : out;
  check(loops().decode_indices(type, body.values, body.values_size, count,
                               dictionary.entries.data(), dictionary.num_entries, entries),
        type);
  if (bits) loops().pack_bits(entries, count, out);
}

// A page's values and validity to the output. `values`: where they are, if not there already.
void PageDecoder::emit(const PageTask& task, const u8* values, u64 valid) {
  const ColumnSpec& spec = column(task);
  ColumnOutput& out = output(task);
  const u64 stride = spec.type.stride();
  const bool all_valid = valid == static_cast<u64>(task.page.num_values);
  const bool in_calendar = task.has_indices() && read_->dictionaries[task.chunk].is_in_calendar;
  for_each_piece(read_->spec, task, [&](u64 row, u64 count, u64 out_row) {
    if (spec.type.kind == Kind::BITS) {
      merge_bits(values, row, count, out.values.data(), out_row);
    } else if (values != nullptr && stride != 0) {
      std::memcpy(out.values.data() + out_row * stride, values + row * stride, count * stride);
    }
    if (read_->spec.for_polars && !in_calendar) {
      check_calendar(spec, out.values.data() + out_row * stride, count);
    }
    if (!out.validity) return;  // a column without levels, or without values
    if (all_valid) {
      merge_ones(count, out.validity.data(), out_row);
    } else {
      merge_bits(validity_.data(), row, count, out.validity.data(), out_row);
      const u64 there = count_bits(validity_.data(), row, count);
      out.null_count.fetch_add(static_cast<i64>(count - there), std::memory_order_relaxed);
    }
  });
}

void PageDecoder::decode_page(const PageTask& task) {
  column(task).nesting.nested ? decode_nested_page(task) : decode_data_page(task);
}

void PageDecoder::decode_data_page(const PageTask& task) {
  if (task.has_indices() && !wait_for_dictionary(task)) return;
  const ValueType type = column(task).type;
  const u64 count = static_cast<u64>(task.page.num_values);
  u8* whole = whole_target(task);
  ViewBuffer* kept = task.views_point_into_body() ? view_buffer(task) : nullptr;
  Body body = open(task, kept != nullptr ? kept->owned : page_, direct_target(task));
  const u64 valid = read_levels(task, body);
  const i64 start = now();
  const bool bits = type.kind == Kind::BITS;
  u8* target = whole;
  if (target == nullptr) {
    if (bits) {
      values_.zero((count + 7) / 8);
    } else {
      values_.reserve(count * type.stride());
    }
    target = values_.data();
  }
  u8* dense = target;
  if (valid != count) {
    if (bits) {
      dense_.zero((valid + 7) / 8);
    } else {
      dense_.reserve(valid * type.stride());
    }
    dense = dense_.data();
  }
  if (body.values != target) decode_values(task, body, valid, dense);
  if (valid != count && type.kind != Kind::NOTHING) {
    loops().scatter(type, validity_.data(), count, dense, target);
  }
  emit(task, whole != nullptr ? nullptr : target, valid);
  record(task, Stage::DECODE, start, body.values_size, count * type.stride());
  done_with_dictionary(task);
}

void PageDecoder::done_with_dictionary(const PageTask& task) {
  Dictionary& dictionary = read_->dictionaries[task.chunk];
  if (task.has_indices() && --dictionary.pages_left == 0) dictionary.entries = Buffer();
}

}  // namespace pq
