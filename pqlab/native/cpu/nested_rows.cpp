// From decoded pages of nested columns to the rows that each holds, and where these go.
#include <algorithm>

#include "read.hpp"

namespace pq {
namespace {

Error placed(Error error, const Page& page) {
  error.row_group = page.row_group;
  error.leaf = page.leaf;
  error.page = page.page;
  error.offset = page.offset;
  return error;
}

// The index, or the headers, by which the run's pages were found must have told the truth.
void check_run(const ChunkRows& rows) {
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

}  // namespace

NestedRows::NestedRows(const Read& read) : read_(read), chunks_(read.spec.chunks.size()) {}

KeptRows NestedRows::add(const PageTask& task, const NestedPage& page) {
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
  return keep(chunk, first, rows, page);
}

// Of the page's rows [first, rows.next_row), the first of which may have begun before it.
KeptRows NestedRows::keep(const ChunkSpec& chunk, i64 first, ChunkRows& rows,
                          const NestedPage& page) const {
  const i64 begun = rows.next_row - static_cast<i64>(page.slots[0]), stop = rows.next_row;
  const RowRange* range = read_.spec.ranges.data() + chunk.first_range;
  const RowRange* end = range + chunk.num_ranges;
  range = std::partition_point(range, end, [&](const RowRange& r) { return r.stop <= first; });
  KeptRows kept;
  for (; range != end && range->start < stop; ++range) {
    const i64 from = std::max(first, range->start), to = std::min(stop, range->stop);
    if (from >= to) continue;
    rows.found += to - std::max(from, begun);
    kept.rows.push_back({static_cast<u64>(from - first), static_cast<u64>(to - first)});
  }
  const u64 held = static_cast<u64>(stop - first);
  const bool whole = kept.rows.size() == 1 && kept.rows[0].start == 0 && kept.rows[0].stop == held;
  kept.all = whole || page.count == 0;
  return kept;
}

void NestedRows::check_totals() const {
  for (u64 i = 0; i < chunks_.size(); ++i) {
    const ChunkSpec& chunk = read_.spec.chunks[i];
    const ChunkRows& rows = chunks_[i];
    const ColumnSpec& column = read_.spec.columns()[chunk.column];
    const i64 wanted = wanted_rows(read_.spec, chunk);
    if (!column.nesting.nested || wanted == 0) continue;
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
}

std::vector<PageCut> find_nested_rows(Read& read) {
  NestedRows rows(read);
  std::vector<PageCut> cuts;
  for (u64 i = 0; i < read.tasks.size(); ++i) {
    const PageTask& task = read.tasks[i];
    const bool nested = read.column(task).nesting.nested;
    if (!nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
    try {
      KeptRows kept = rows.add(task, read.nested_page(task));
      if (!kept.all) cuts.push_back({i, std::move(kept.rows)});
    } catch (Error& error) {
      throw placed(std::move(error), task.page);
    }
  }
  rows.check_totals();
  return cuts;
}

// An entry begins a slot of a depth at most, and a row where it is of depth 0.
void make_room(Read& read) {
  for (u64 i = 0; i < read.columns.size(); ++i) {
    const Nesting& nesting = read.spec.columns()[i].nesting;
    if (!nesting.nested) continue;
    std::vector<u64>& slots = read.columns[i].nested.slots;
    slots.assign(nesting.list_levels.size(), 0);
    slots[0] = static_cast<u64>(read.spec.num_rows);
  }
  std::vector<u32> turns(read.columns.size());
  for (PageTask& task : read.tasks) {
    const bool nested = read.column(task).nesting.nested;
    if (!nested || task.page.type == PageType::DICTIONARY_PAGE) continue;
    const u32 column = read.spec.chunks[task.chunk].column;
    task.turn = turns[column]++;
    std::vector<u64>& slots = read.columns[column].nested.slots;
    for (u64 depth = 1; depth < slots.size(); ++depth) {
      slots[depth] += static_cast<u64>(task.page.num_values);
    }
  }
}

void place(Read& read, const PageTask& task, NestedPage& page) {
  NestedOutput& output = read.columns[read.spec.chunks[task.chunk].column].nested;
  page.first_slots = output.slots;
  for (u64 depth = 0; depth < output.slots.size(); ++depth) {
    output.slots[depth] += page.slots[depth];
    if (output.slots[depth] <= output.room[depth]) continue;
    throw Error(ErrorKind::Corrupt, "the pages hold more rows than are wanted");
  }
}

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
