#include "read.hpp"

#include <algorithm>

#include "page_decoder.hpp"
#include "thread_pool.hpp"

namespace pq {
namespace {

// Below this many bytes waking threads costs more than it gains.
constexpr u64 INLINE_BYTES = 128 << 10;

u64 value_bytes(const ValueType& type, i64 rows) {
  const u64 count = static_cast<u64>(rows);
  return type.kind == Kind::BITS ? (count + 7) / 8 : count * type.stride();
}

// Of nested columns, `nested_bytes`: of their pages, before they are decoded, what these claim to
// hold; then of the outputs. `joined_bytes`: what values of the pages have unfolded to so far.
void check_read_bytes(Read& read, double nested_bytes, u64 joined_bytes) {
  // Of any number of columns and pages: no overflow.
  double total = nested_bytes + static_cast<double>(joined_bytes);
  for (const ColumnSpec& column : read.spec.columns) {
    if (!column.nesting.nested) {
      total += static_cast<double>(value_bytes(column.type, read.spec.num_rows));
    }
  }
  for (const PageTask& task : read.tasks) {
    if (read.column(task).type.views()) total += task.page.uncompressed_page_size;
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
    const ColumnSpec& column = read.spec.columns[i];
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
    store(nested.offsets.back().data() + nested.slots[depth - 1] * sizeof(i64),
          static_cast<i64>(nested.slots[depth]));
  }
  const auto& groups = column.nesting.groups;
  nested.groups = std::vector<BitmapOutput>(groups.size());
  for (u64 i = 0; i < groups.size(); ++i) {
    nested.groups[i].bits = Buffer((nested.slots[groups[i].depth] + 7) / 8, true);
  }
}

// Takes the memory of the outputs that are flat, or of those that are nested.
template <class Allocate>
void allocate_columns(Read& read, bool nested, Allocate&& take) {
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const ColumnSpec& column = read.spec.columns[i];
    if (column.nesting.nested != nested) continue;
    try {
      take(column, read.columns[i]);
    } catch (Error& error) {
      error.leaf = column.leaf;
      throw;
    }
  }
}

// Pages of nested columns, once they are decoded, to their outputs.
bool assemble_nested(Read& read, u64 planned_bytes, bool in_this_thread,
                     const std::function<bool()>& interrupted) {
  const std::vector<PageCut> cuts = find_nested_rows(read);
  const auto cut_page = [&](u64 i, u32) {
    const PageTask& task = read.tasks[cuts[i].task];
    const ColumnSpec& column = read.column(task);
    cut(column.nesting, column.type, cuts[i].rows, read.nested_page(task));
  };
  if (!run_tasks(cuts.size(), read.spec.workers, in_this_thread, cut_page, interrupted)) {
    return false;
  }
  lay_out_nested(read);
  check_read_bytes(read, nested_output_bytes(read), read.decoded_bytes - planned_bytes);
  allocate_columns(read, true, allocate_nested);
  const auto fill_page = [&](u64 task, u32 worker) {
    if (!read.column(read.tasks[task]).nesting.nested) return;
    const i32 name = in_this_thread ? -1 : static_cast<i32>(worker);
    PageDecoder::of_this_thread().assemble(read, read.tasks[task], name);
  };
  return run_tasks(read.tasks.size(), read.spec.workers, in_this_thread, fill_page, interrupted);
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

Read::Read(const ReadSpec& spec_)
    : spec(spec_),
      columns(spec_.columns.size()),
      dictionaries(spec_.chunks.size()),
      events(spec_.workers) {}

i64 run_dictionary(Read& read) {
  find_dictionary(read);
  const PageTask& task = read.tasks.front();
  ColumnOutput& output = read.columns.front();
  output.view_buffers = std::vector<ViewBuffer>(output.num_view_buffers);
  PageDecoder::of_this_thread().decode(read, task, -1);
  const ValueType type = read.spec.columns.front().type;
  Dictionary& dictionary = read.dictionaries.front();
  output.values = std::move(dictionary.entries);
  if (type.kind == Kind::BITS) {
    Buffer bits(value_bytes(type, task.page.num_values), true);
    pack_bits(output.values.data(), dictionary.num_entries, bits.data());
    output.values = std::move(bits);
  }
  return task.page.num_values;
}

bool run_read(Read& read, const std::function<bool()>& interrupted) {
  find_pages(read);
  const double nested_bytes = nested_page_bytes(read);
  check_read_bytes(read, nested_bytes, 0);
  const u64 planned_bytes = read.decoded_bytes;
  for (ColumnOutput& column : read.columns) {
    column.view_buffers = std::vector<ViewBuffer>(column.num_view_buffers);
  }
  allocate_columns(read, false, [&](const ColumnSpec& column, ColumnOutput& output) {
    allocate(column, read.spec.num_rows, output);
  });
  const auto is_nested = [](const ColumnSpec& column) { return column.nesting.nested; };
  const auto& columns = read.spec.columns;
  const bool any_nested = std::any_of(columns.begin(), columns.end(), is_nested);
  if (any_nested) read.nested_pages = std::vector<NestedPage>(read.tasks.size());
  u64 bytes = static_cast<u64>(nested_bytes);
  for (const ColumnOutput& column : read.columns) bytes += column.values.size();
  for (const PageTask& task : read.tasks) {
    bytes += static_cast<u64>(task.page.uncompressed_page_size);
  }
  const bool in_this_thread = bytes < INLINE_BYTES;
  const auto decode = [&](u64 task, u32 worker) {
    const i32 name = in_this_thread ? -1 : static_cast<i32>(worker);
    PageDecoder::of_this_thread().decode(read, read.tasks[task], name);
  };
  return run_tasks(read.tasks.size(), read.spec.workers, in_this_thread, decode, interrupted) &&
         (!any_nested || assemble_nested(read, planned_bytes, in_this_thread, interrupted));
}

}  // namespace pq
