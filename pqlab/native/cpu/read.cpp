#include "read.hpp"

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

void check_read_bytes(Read& read) {
  double total = 0;  // of any number of columns and pages: no overflow
  for (const ColumnSpec& column : read.spec.columns) {
    total += static_cast<double>(value_bytes(column.type, read.spec.num_rows));
  }
  for (const PageTask& task : read.tasks) {
    if (read.spec.columns[read.spec.chunks[task.chunk].column].type.views()) {
      total += task.page.uncompressed_page_size;
    }
  }
  read.decoded_bytes = static_cast<u64>(total);
  if (total > static_cast<double>(read.spec.max_read_bytes)) {
    throw read_bytes_error(read.decoded_bytes, read.spec);
  }
}

void allocate(const ColumnSpec& column, i64 num_rows, ColumnOutput& output) {
  const bool bits = column.type.kind == Kind::BITS;
  output.values = Buffer(value_bytes(column.type, num_rows), bits);
  const bool levels = column.max_definition_level > 0 && column.type.kind != Kind::NOTHING;
  if (levels) output.validity = Buffer((static_cast<u64>(num_rows) + 7) / 8, true);
  output.view_buffers = std::vector<ViewBuffer>(output.num_view_buffers);
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
  check_read_bytes(read);
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const ColumnSpec& column = read.spec.columns[i];
    try {
      allocate(column, read.spec.num_rows, read.columns[i]);
    } catch (Error& error) {
      error.leaf = column.leaf;
      throw;
    }
  }
  u64 bytes = 0;
  for (const ColumnOutput& column : read.columns) bytes += column.values.size();
  for (const PageTask& task : read.tasks) {
    bytes += static_cast<u64>(task.page.uncompressed_page_size);
  }
  const bool in_this_thread = bytes < INLINE_BYTES;
  const auto decode = [&](u64 task, u32 worker) {
    const i32 name = in_this_thread ? -1 : static_cast<i32>(worker);
    PageDecoder::of_this_thread().decode(read, read.tasks[task], name);
  };
  return run_tasks(read.tasks.size(), read.spec.workers, in_this_thread, decode, interrupted);
}

}  // namespace pq
