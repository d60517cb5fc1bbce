#include "read.hpp"

#include <algorithm>
#include <iterator>

#include "clock.hpp"
#include "loops.hpp"
#include "page_decoder.hpp"

namespace pq {
namespace {

// Below this many bytes waking threads costs more than it gains.
constexpr u64 INLINE_BYTES = 128 << 10;

u64 value_bytes(const ValueType& type, i64 rows) {
  const u64 count = static_cast<u64>(rows);
  return type.kind == Kind::BITS ? (count + 7) / 8 : count * type.stride();
}

}  // namespace

void check_read_bytes(Read& read, double nested_bytes, u64 joined_bytes) {
  // Of any number of columns and pages: no overflow.
  double total = nested_bytes + static_cast<double>(joined_bytes);
  for (const ColumnSpec& column : read.spec.columns()) {
    if (!column.nesting.nested) {
      total += static_cast<double>(value_bytes(column.type, read.spec.num_rows));
    }
  }
  for (const PageTask& task : read.tasks) {
    if (read.column(task).type.keeps_bytes()) total += task.page.uncompressed_page_size;
  }
  read.decoded_bytes = static_cast<u64>(total);
  if (total > static_cast<double>(read.spec.max_read_bytes)) {
    throw read_bytes_error(read.decoded_bytes, read.spec);
  }
}

double nested_page_bytes(const Read& read) {
  double total = 0;
  for (const PageTask& task : read.tasks) {
    const ColumnSpec& column = read.column(task);
    if (!column.nesting.nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
    const u32 levels = column.nesting.max_repetition_level() > 0 ? 2 : 1;
    const double entry_bytes = column.type.stride() + levels * sizeof(Level);
    total += entry_bytes * task.page.num_values;
  }
  return total;
}

double nested_output_bytes(const Read& read) {
  double total = 0;
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const NestedOutput& nested = read.columns[i].nested;
    if (nested.slots.empty()) continue;
    const ColumnSpec& column = read.spec.columns()[i];
    total += static_cast<double>(value_bytes(column.type, static_cast<i64>(nested.slots.back())));
    for (u64 depth = 0; depth + 1 < nested.slots.size(); ++depth) {
      total += static_cast<double>(nested.slots[depth]) * sizeof(i64);
    }
    for (const OptionalGroup& group : column.nesting.groups) {
      total += static_cast<double>(nested.slots[group.depth]) / 8;
    }
  }
  return total;
}

namespace {

void allocate(const ColumnSpec& column, i64 num_rows, ColumnOutput& output) {
  const bool bits = column.type.kind == Kind::BITS;
  output.values = Buffer(value_bytes(column.type, num_rows), bits);
  const bool has_values = column.type.kind != Kind::NOTHING;
  const bool optional =
      column.nesting.nested ? column.nesting.leaf_is_optional : column.max_definition_level > 0;
  if (optional && has_values) output.validity = Buffer((static_cast<u64>(num_rows) + 7) / 8, true);
}

void allocate_nested(const ColumnSpec& column, ColumnOutput& output) {
  NestedOutput& nested = output.nested;
  allocate(column, static_cast<i64>(nested.slots.back()), output);
  for (u64 depth = 1; depth < nested.slots.size(); ++depth) {
    nested.offsets.emplace_back((nested.slots[depth - 1] + 1) * sizeof(i64));
  }
  const auto& groups = column.nesting.groups;
  nested.groups = std::vector<BitmapOutput>(groups.size());
  for (u64 i = 0; i < groups.size(); ++i) {
    nested.groups[i].bits = Buffer((nested.slots[groups[i].depth] + 7) / 8, true);
  }
  nested.room = std::exchange(nested.slots, std::vector<u64>(nested.slots.size()));
}

// Gives back what a nested column's outputs had room for and its pages did not hold.
void fit(const ColumnSpec& column, ColumnOutput& output) {
  NestedOutput& nested = output.nested;
  output.values.shrink(value_bytes(column.type, static_cast<i64>(nested.slots.back())));
  if (output.validity) output.validity.shrink((nested.slots.back() + 7) / 8);
  for (u64 depth = 1; depth < nested.slots.size(); ++depth) {
    Buffer& offsets = nested.offsets[depth - 1];
    const u64 last = nested.slots[depth - 1] * sizeof(i64);
    store(offsets.data() + last, static_cast<i64>(nested.slots[depth]));
    offsets.shrink(last + sizeof(i64));
  }
  for (u64 i = 0; i < nested.groups.size(); ++i) {
    nested.groups[i].bits.shrink((nested.slots[column.nesting.groups[i].depth] + 7) / 8);
  }
}

void allocate_columns(Read& read) {
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const ColumnSpec& column = read.spec.columns()[i];
    try {
      column.nesting.nested ? allocate_nested(column, read.columns[i])
                            : allocate(column, read.spec.num_rows, read.columns[i]);
    } catch (Error& error) {
      error.leaf = column.leaf;
      throw;
    }
  }
}

u64 next_read_id() {
  static std::atomic<u64> last{0};
  return ++last;
}

}  // namespace

Error page_bytes_error(u64 needed, const ReadSpec& spec) {
  const std::string bytes = std::to_string(needed);
  Error error(ErrorKind::Limit, "a page of " + bytes + " bytes is above the limit page_bytes = " +
                                    std::to_string(spec.max_page_bytes));
  error.hint = "If you trust the file, pass limits=pqlab.Limits(page_bytes=" + bytes + ")";
  return error;
}

Error read_bytes_error(u64 needed, const ReadSpec& spec) {
  const std::string bytes = std::to_string(needed);
  Error error(ErrorKind::Limit,
              "the read decodes to " + bytes +
                  " bytes, above the limit read_bytes = " + std::to_string(spec.max_read_bytes));
  error.hint = "If you trust the file, pass limits=pqlab.Limits(read_bytes=" + bytes +
               "); or select fewer rows or columns";
  return error;
}

namespace {

// With a comma at every thousand.
std::string grouped(i64 value) {
  std::string digits = std::to_string(value);
  const i64 first = value < 0 ? 1 : 0;
  for (i64 at = static_cast<i64>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<u64>(at), ",");
  }
  return digits;
}

}  // namespace

namespace {

// Calls use(values as numbers, whether one is outside) for what the column's calendar bounds.
template <class Use>
auto with_calendar(const ColumnSpec& column, const u8* values, Use&& use) {
  const auto with = [&](auto number) {
    using Number = decltype(number);
    return use(reinterpret_cast<const Number*>(values),
               [&calendar = column.calendar](Number value) {
                 return value < calendar.first || value >= calendar.stop;
               });
  };
  return column.type.stride() == sizeof(i32) ? with(i32{}) : with(i64{});
}

}  // namespace

bool is_in_calendar(const ColumnSpec& column, const u8* values, u64 count) {
  if (!column.calendar.is_bounded()) return true;
  return with_calendar(column, values, [&](const auto* numbers, auto outside) {
    bool any = false;
    for (u64 i = 0; i < count; ++i) any |= outside(numbers[i]);
    return !any;
  });
}

void check_calendar(const ColumnSpec& column, const u8* values, u64 count) {
  if (is_in_calendar(column, values, count)) return;
  with_calendar(column, values, [&](const auto* numbers, auto outside) {
    const i64 value = *std::find_if(numbers, numbers + count, outside);
    Error error(ErrorKind::Unsupported, "polars has no calendar for the value " + grouped(value) +
                                            " (" + column.calendar.type + " since 1970)");
    error.hint = "Read it with to_arrow(), which keeps it as stored";
    throw error;
  });
}

Read::Read(const ReadSpec& spec_)
    : spec(spec_),
      id(next_read_id()),
      columns(spec_.columns().size()),
      dictionaries(spec_.chunks.size()),
      events(spec_.workers) {}

void ColumnOutput::sort_words() {
  // Nested columns may have room for more values than there are.
  const u64 count = nested.slots.empty() ? values.size() / sizeof(u32) : nested.slots.back();
  words->sort(reinterpret_cast<u32*>(values.data()), count);
}

void Read::make_ready() {
  for (u64 i = 0; i < columns.size(); ++i) {
    const ValueType type = spec.columns()[i].type;
    if (type.views()) columns[i].view_buffers.resize(columns[i].num_view_buffers);
    if (type.kind == Kind::CODES) columns[i].words = std::make_unique<Words>();
  }
}

i64 run_dictionary(Read& read) {
  find_dictionary(read);
  const PageTask& task = read.tasks.front();
  ColumnOutput& output = read.columns.front();
  read.make_ready();
  PageDecoder::of_this_thread().decode(read, task, -1);
  const ValueType type = read.spec.columns().front().type;
  Dictionary& dictionary = read.dictionaries.front();
  output.values = std::move(dictionary.entries);
  if (type.kind == Kind::BITS) {
    Buffer bits(value_bytes(type, task.page.num_values), true);
    loops().pack_bits(output.values.data(), dictionary.num_entries, bits.data());
    output.values = std::move(bits);
  }
  if (read.spec.for_polars) {
    check_calendar(read.spec.columns().front(), output.values.data(), dictionary.num_entries);
  }
  if (output.words != nullptr) output.sort_words();
  return task.page.num_values;
}

bool ReadWork::next(Phase& phase) {
  constexpr Step STEPS[] = {&ReadWork::fetch, &ReadWork::decode, &ReadWork::sort_words,
                            &ReadWork::finish};
  while (step_ < std::size(STEPS)) {
    if ((this->*STEPS[step_++])(phase)) return true;
  }
  return false;
}

bool ReadWork::fetch(Phase& phase) {
  Fetch& fetch = spec_.fetch;
  fetch.allocate();
  for (FileRun& run : spec_.runs) {
    run.piece = fetch.find(run.offset, run.offset + static_cast<i64>(run.size));
    const Piece& piece = fetch.pieces[run.piece];
    run.data = piece.data + (run.offset - piece.start);
  }
  if (fetch.requests.empty()) return false;
  u64 bytes = 0;
  for (const Request& request : fetch.requests) {
    bytes += static_cast<u64>(request.stop - request.start);
  }
  const auto fetch_request = [this](u64 request, i32 worker) {
    const i64 start_ns = spec_.trace ? now_ns() : 0;
    spec_.fetch.run(request);
    if (!spec_.trace) return;
    read_.events[static_cast<u64>(std::max(worker, 0))].push_back(
        spec_.fetch.event(request, start_ns, worker));
  };
  phase = {fetch.requests.size(), fetch_request, bytes < INLINE_BYTES};
  return true;
}

bool ReadWork::decode(Phase& phase) {
  find_pages(read_);
  progress_.num_pages = read_.tasks.size();
  make_room(read_);
  check_read_bytes(read_, nested_output_bytes(read_), 0);
  read_.make_ready();
  allocate_columns(read_);
  u64 bytes = 0;
  for (const ColumnOutput& column : read_.columns) bytes += column.values.size();
  for (const PageTask& task : read_.tasks) {
    bytes += static_cast<u64>(task.page.uncompressed_page_size);
  }
  small_ = bytes < INLINE_BYTES;
  const auto is_nested = [](const ColumnSpec& column) { return column.nesting.nested; };
  any_nested_ = std::any_of(spec_.columns().begin(), spec_.columns().end(), is_nested);
  if (any_nested_) read_.nested_rows = std::make_unique<NestedRows>(read_);
  find_units();
  const auto decode_unit = [this](u64 unit, i32 worker) {
    const u64 first = units_[unit], stop = units_[unit + 1];
    PageDecoder& decoder = PageDecoder::of_this_thread();
    if (stop - first == 2) {
      decoder.decompress_two(read_, read_.tasks[first], read_.tasks[first + 1], worker);
    }
    std::exception_ptr
        failed;  // the page behind it is decoded all the same: others may wait for it
    for (u64 task = first; task < stop; ++task) {
      try {
        decoder.decode(read_, read_.tasks[task], worker);
      } catch (...) {
        if (failed == nullptr) failed = std::current_exception();
        continue;
      }
      ++progress_.pages_done;
      progress_.bytes_done += static_cast<u64>(read_.tasks[task].page.total_bytes);
    }
    if (failed != nullptr) std::rethrow_exception(failed);
  };
  if (spec_.trace) read_.queued_at_ns = now_ns();
  phase = {units_.size() - 1, decode_unit, small_};
  return true;
}

// A unit is a page, or two that are better decompressed at once; where there are many.
void ReadWork::find_units() {
  constexpr u64 MANY = 16;  // pages for each worker: none of them is idle for long at the end
  const std::vector<PageTask>& tasks = read_.tasks;
  const bool many = tasks.size() >= MANY * spec_.workers;
  units_.clear();
  for (u64 task = 0; task < tasks.size(); ++task) {
    units_.push_back(task);
    const bool two = many && task + 1 < tasks.size() &&
                     PageDecoder::go_together(read_, tasks[task], tasks[task + 1]);
    task += two ? 1 : 0;
  }
  units_.push_back(tasks.size());
}

bool ReadWork::sort_words(Phase& phase) {
  for (ColumnOutput& column : read_.columns) {
    if (column.words != nullptr) coded_.push_back(&column);
  }
  const auto sort_column = [this](u64 i, i32) { coded_[i]->sort_words(); };
  phase = {coded_.size(), sort_column, small_};
  return !coded_.empty();
}

// Once all is there. What was fetched is let go, but for what views point into.
bool ReadWork::finish(Phase&) {
  if (any_nested_) {
    read_.nested_rows->check_totals();
    for (u64 i = 0; i < read_.columns.size(); ++i) {
      const ColumnSpec& column = spec_.columns()[i];
      if (column.nesting.nested) fit(column, read_.columns[i]);
    }
    agree(read_);
  }
  for (Piece& piece : spec_.fetch.pieces) piece.owner.reset();
  return false;
}

Decoded take_decoded(Read& read, i64 num_rows) {
  Decoded decoded{read.spec.column_set, {}, num_rows};
  for (u64 i = 0; i < read.columns.size(); ++i) {
    ColumnOutput& column = read.columns[i];
    auto leaf = std::make_shared<DecodedLeaf>();
    leaf->type = read.spec.columns()[i].type;
    leaf->values = std::move(column.values);
    leaf->null_count = column.null_count;
    if (leaf->null_count != 0) leaf->validity = std::move(column.validity);
    leaf->view_buffers = std::move(column.view_buffers);
    leaf->words = std::move(column.words);
    leaf->slots = std::move(column.nested.slots);
    leaf->offsets = std::move(column.nested.offsets);
    for (BitmapOutput& group : column.nested.groups) {
      const i64 null_count = group.null_count;
      leaf->groups.push_back({null_count != 0 ? std::move(group.bits) : Buffer(), null_count});
    }
    decoded.leaves.push_back(std::move(leaf));
  }
  return decoded;
}

}  // namespace pq
