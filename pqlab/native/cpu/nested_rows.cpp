// From decoded pages of nested columns to the rows that each holds, and where these go.
#include <algorithm>

#include "read.hpp"

namespace pq {
namespace {

// What is known of a chunk between one of its pages and the next.
struct ChunkRows {
  const FileRun* run = nullptr;  // of the page before
  i64 next_row = 0;              // the first that has not begun
  i64 found = 0;                 // wanted rows that have begun
  Level last_level = 0;          // the definition level of the last entry
};

Error placed(Error error, const Page& page) {
  error.row_group = page.row_group;
  error.leaf = page.leaf;
  error.page = page.page;
  error.offset = page.offset;
  return error;
}

class NestedRows {
 public:
  explicit NestedRows(Read& read) : read_(read), chunks_(read.spec.chunks.size()) {}

  std::vector<PageCut> find() {
    for (u64 i = 0; i < read_.tasks.size(); ++i) {
      const PageTask& task = read_.tasks[i];
      const bool nested = read_.column(task).nesting.nested;
      if (!nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
      try {
        add(i, task);
      } catch (Error& error) {
        throw placed(std::move(error), task.page);
      }
    }
    for (u64 i = 0; i < chunks_.size(); ++i) check_total(read_.spec.chunks[i], chunks_[i]);
    return std::move(cuts_);
  }

 private:
  void add(u64 ordinal, const PageTask& task) {
    NestedPage& page = read_.nested_page(task);
    const Nesting& nesting = read_.column(task).nesting;
    const ChunkSpec& chunk = read_.spec.chunks[task.chunk];
    ChunkRows& rows = chunks_[task.chunk];
    const bool begins_run = rows.run != task.run;
    if (begins_run) check_run(rows);
    rows.run = task.run;
    if (begins_run && task.run->first_page >= 0) {
      if (task.run->first_row < rows.next_row) {
        throw Error(ErrorKind::Corrupt, "the page begins in the rows of the pages before it");
      }
      rows.next_row = task.run->first_row;
    }
    const bool begins_within_row = page.begins_within_row();
    if (begins_within_row) {
      const bool may = task.page.type == PageType::DATA_PAGE && !chunk.resolved && !begins_run;
      if (!may) {
        throw Error(ErrorKind::Corrupt, "the first repetition level is " +
                                            std::to_string(page.first_repetition) +
                                            ": a row must begin where the page does");
      }
      check_first(nesting, page, rows.last_level);
    }
    if (page.count != 0) rows.last_level = page.last_definition;
    const i64 first = rows.next_row - (begins_within_row ? 1 : 0);
    rows.next_row += static_cast<i64>(page.slots[0]);
    if (rows.next_row > chunk.num_rows) throw wrong_rows(chunk, rows.next_row, true);
    keep(ordinal, chunk, first, rows, page);
  }

  // The index, or the headers, by which the run's pages were found must have told the truth.
  static void check_run(const ChunkRows& rows) {
    const FileRun* run = rows.run;
    if (run == nullptr || run->num_rows < 0) return;
    const i64 held = rows.next_row - run->first_row;
    if (held == run->num_rows) return;
    Error error(ErrorKind::Corrupt, "the pages from page " + std::to_string(run->first_page) +
                                        " on hold " + std::to_string(held) +
                                        " rows, their index or headers say " +
                                        std::to_string(run->num_rows));
    error.hint = "Read whole row groups: then the levels decide";
    throw error;
  }

  // Of the page's rows [first, rows.next_row), the first of which may have begun before it.
  void keep(u64 ordinal, const ChunkSpec& chunk, i64 first, ChunkRows& rows, NestedPage& page) {
    const i64 begun = rows.next_row - static_cast<i64>(page.slots[0]), stop = rows.next_row;
    const RowRange* range = read_.spec.ranges.data() + chunk.first_range;
    const RowRange* end = range + chunk.num_ranges;
    range = std::partition_point(range, end, [&](const RowRange& r) { return r.stop <= first; });
    PageCut cut{ordinal, {}};
    for (; range != end && range->start < stop; ++range) {
      const i64 from = std::max(first, range->start), to = std::min(stop, range->stop);
      if (from >= to) continue;
      rows.found += to - std::max(from, begun);
      cut.rows.push_back({static_cast<u64>(from - first), static_cast<u64>(to - first)});
    }
    const u64 held = static_cast<u64>(stop - first);
    if (cut.rows.size() == 1 && cut.rows[0].start == 0 && cut.rows[0].stop == held) return;
    if (page.count != 0) cuts_.push_back(std::move(cut));
  }

  void check_total(const ChunkSpec& chunk, const ChunkRows& rows) const {
    const ColumnSpec& column = read_.spec.columns()[chunk.column];
    const i64 wanted = wanted_rows(read_.spec, chunk);
    if (!column.nesting.nested || wanted == 0) return;
    try {
      check_run(rows);
      const bool whole = chunk.resolved || rows.next_row == chunk.num_rows;
      if (!whole) throw wrong_rows(chunk, rows.next_row, false);
      if (rows.found != wanted) throw missing_rows(rows.found, wanted);
    } catch (Error& error) {
      error.row_group = chunk.row_group;
      error.leaf = column.leaf;
      throw;
    }
  }

  Read& read_;
  std::vector<ChunkRows> chunks_;
  std::vector<PageCut> cuts_;
};

}  // namespace

std::vector<PageCut> find_nested_rows(Read& read) { return NestedRows(read).find(); }

void lay_out_nested(Read& read) {
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const Nesting& nesting = read.spec.columns()[i].nesting;
    if (nesting.nested) read.columns[i].nested.slots.assign(nesting.list_levels.size(), 0);
  }
  for (const PageTask& task : read.tasks) {
    const bool nested = read.column(task).nesting.nested;
    if (!nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
    NestedPage& page = read.nested_page(task);
    std::vector<u64>& slots = read.columns[read.spec.chunks[task.chunk].column].nested.slots;
    page.first_slots = slots;
    for (u64 depth = 0; depth < slots.size(); ++depth) slots[depth] += page.slots[depth];
  }
}

}  // namespace pq
