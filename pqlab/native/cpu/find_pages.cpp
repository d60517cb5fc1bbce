#include <algorithm>
#include <array>

#include "codecs.hpp"
#include "page_walk.hpp"
#include "read.hpp"

namespace pq {

std::string encoding_name(i8 encoding) {
  constexpr std::array<const char*, 11> NAMES = {
      "PLAIN",
      nullptr,
      "PLAIN_DICTIONARY",
      "RLE",
      "BIT_PACKED",
      "DELTA_BINARY_PACKED",
      "DELTA_LENGTH_BYTE_ARRAY",
      "DELTA_BYTE_ARRAY",
      "RLE_DICTIONARY",
      "BYTE_STREAM_SPLIT",
      "ALP",
  };
  const u32 number = static_cast<u8>(encoding);
  if (number < NAMES.size() && NAMES[number] != nullptr) return NAMES[number];
  // Page headers keep numbers that one byte holds; others are 254 there.
  return number < 254 ? "encoding " + std::to_string(number) : "unknown encoding";
}

namespace {

bool is_dictionary_encoding(i8 encoding) {
  const auto known = static_cast<Encoding>(encoding);
  return known == Encoding::PLAIN_DICTIONARY || known == Encoding::RLE_DICTIONARY;
}

bool has_prefixes(const Page& page) {
  return page.type != PageType::DICTIONARY_PAGE &&
         static_cast<Encoding>(page.encoding) == Encoding::DELTA_BYTE_ARRAY;
}

}  // namespace

bool reads_encoding(PageType page_type, i8 code, Kind kind) {
  const auto encoding = static_cast<Encoding>(code);
  if (page_type == PageType::DICTIONARY_PAGE) {
    return encoding == Encoding::PLAIN || encoding == Encoding::PLAIN_DICTIONARY;
  }
  const bool any = kind == Kind::NOTHING;  // no value is looked at
  const bool floating = kind == Kind::FLOATING;
  switch (encoding) {
    case Encoding::PLAIN:
    case Encoding::PLAIN_DICTIONARY:
    case Encoding::RLE_DICTIONARY: return true;
    case Encoding::RLE: return any || kind == Kind::BITS;
    case Encoding::DELTA_BINARY_PACKED: return any || is_integer(kind);
    case Encoding::DELTA_LENGTH_BYTE_ARRAY: return any || is_byte_array(kind);
    case Encoding::DELTA_BYTE_ARRAY: return any || is_byte_array(kind) || is_fixed(kind);
    case Encoding::BYTE_STREAM_SPLIT: return any || is_integer(kind) || is_fixed(kind) || floating;
    case Encoding::ALP: return any || floating;
    default: return false;
  }
}

bool reads_codec(i32 codec) {
  return codec >= 0 && codec <= static_cast<i32>(Codec::LZ4_RAW) &&
         codec != static_cast<i32>(Codec::LZO);
}

namespace {

bool reads_levels(i8 code) {
  const auto encoding = static_cast<Encoding>(code);
  return encoding == Encoding::RLE || encoding == Encoding::BIT_PACKED;
}

std::string rows_text(i64 rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

}  // namespace

Error wrong_rows(const ChunkSpec& chunk, i64 rows, bool or_more) {
  return Error(ErrorKind::Corrupt,
               "the pages hold " + rows_text(rows) + (or_more ? " or more" : "") +
                   ", the row group has " + rows_text(chunk.num_rows),
               "RowGroup.num_rows");
}

Error missing_rows(i64 found, i64 wanted) {
  return Error(ErrorKind::Corrupt, "the pages hold " + rows_text(found) + " of the " +
                                       rows_text(wanted) + " that are wanted");
}

i64 wanted_rows(const ReadSpec& spec, const ChunkSpec& chunk) {
  i64 wanted = 0;
  for (u32 i = 0; i < chunk.num_ranges; ++i) {
    const RowRange& range = spec.ranges[chunk.first_range + i];
    wanted += range.stop - range.start;
  }
  return wanted;
}

namespace {

// The pages of one chunk, in file order.
class ChunkWalk {
 public:
  ChunkWalk(Read& read, u32 ordinal)
      : read_(read), spec_(read.spec), chunk_(read.spec.chunks[ordinal]), ordinal_(ordinal) {}

  std::vector<PageTask> walk() {
    const ColumnSpec& column = spec_.columns()[chunk_.column];
    const i64 wanted = wanted_rows(spec_, chunk_);
    if (wanted == 0) return {};
    refuse_codec();
    for (u32 i = 0; i < chunk_.num_runs; ++i) walk_run(spec_.runs[chunk_.first_run + i], column);
    if (!column.nesting.nested) {
      if (found_ != wanted) throw placed(missing_rows(found_, wanted));
      if (!chunk_.resolved && next_row_ != chunk_.num_rows) disagree();
    }
    if (!uses_dictionary_) drop_dictionary();
    return std::move(tasks_);
  }

  // The dictionary page that begins the first run.
  PageTask dictionary() {
    refuse_codec();
    const FileRun& run = spec_.runs.at(chunk_.first_run);
    Page page = unknown_page();
    const PageHeaderOutcome outcome = parse_page_header(run.data, run.size, page);
    if (outcome.status != PageHeaderStatus::OK) {
      throw placed(page_header_error(outcome, run.offset));
    }
    page.offset = run.offset;
    page.row_group = chunk_.row_group;
    page.leaf = spec_.columns()[chunk_.column].leaf;
    page.page = -1;
    if (page.type != PageType::DICTIONARY_PAGE || static_cast<u64>(page.total_bytes) > run.size) {
      throw placed(Error(ErrorKind::Corrupt, "no dictionary page stands here", "PageHeader.type"),
                   &page);
    }
    add(page, run, spec_.columns()[chunk_.column]);
    return tasks_.at(0);
  }

 private:
  void refuse_codec() const {
    if (reads_codec(chunk_.codec)) return;
    throw placed(Error(ErrorKind::Unsupported, codec_name(chunk_.codec) + " pages are not read",
                       "ColumnMetaData.codec"));
  }

  void walk_run(const FileRun& run, const ColumnSpec& column) {
    if (run.first_page >= 0 && run.first_row < next_row_ && !column.nesting.nested) {
      throw placed(Error(ErrorKind::Corrupt, "page " + std::to_string(run.first_page) +
                                                 " begins in the rows of the pages before it"));
    }
    if (run.first_page >= 0) next_row_ = run.first_row;
    WalkState state{};
    state.position = run.offset;
    state.stop = state.hard_stop = run.offset + static_cast<i64>(run.size);
    const i64 num_values =
        column.nesting.nested ? std::max<i64>(chunk_.num_values, 0) : chunk_.num_rows;
    state.num_values = chunk_.resolved ? 0 : num_values;
    state.values_left = state.num_values;
    state.first_row = next_row_;
    state.row_group = chunk_.row_group;
    state.leaf = column.leaf;
    state.page = std::max(run.first_page, 0);
    state.flat = column.nesting.max_repetition_level() == 0;
    const WalkResult result = walk_page_headers(run.data, run.size, run.offset, state);
    for (const Page& page : result.pages) add(page, run, column);
  }

  void add(Page page, const FileRun& run, const ColumnSpec& column) {
    if (page.type != PageType::DICTIONARY_PAGE) {
      if (!column.nesting.nested) {
        page.first_row = next_row_;  // flat: as many rows as values, whatever a v2 header says
        next_row_ = page.first_row + page.num_values;
        if (next_row_ > chunk_.num_rows) disagree();
        const i64 rows = rows_of(page);
        if (rows == 0 && !(spec_.prefixes_reach_back && has_prefixes(page))) return;
        found_ += rows;
      }
      uses_dictionary_ |= is_dictionary_encoding(page.encoding);
    }
    refuse_what_is_not_read(page, column);
    check_size(page);
    const u8* body = run.data + (page.offset - run.offset) + page.header_bytes;
    const bool keeps = column.type.keeps_bytes() && !(page.type != PageType::DICTIONARY_PAGE &&
                                                      is_dictionary_encoding(page.encoding));
    auto& buffers = read_.columns[chunk_.column].num_view_buffers;
    tasks_.push_back({ordinal_, page, &run, body, keeps ? buffers++ : 0, 0, 0});
  }

  // Of a flat page, those that are wanted.
  i64 rows_of(const Page& page) const {
    const RowRange* range = spec_.ranges.data() + chunk_.first_range;
    const RowRange* end = range + chunk_.num_ranges;
    range = std::partition_point(range, end,
                                 [&](const RowRange& r) { return r.stop <= page.first_row; });
    i64 rows = 0;
    for (; range != end && range->start < next_row_; ++range) {
      rows += std::min(next_row_, range->stop) - std::max(page.first_row, range->start);
    }
    return rows;
  }

  void refuse_what_is_not_read(const Page& page, const ColumnSpec& column) const {
    if (!reads_encoding(page.type, page.encoding, column.type.kind)) {
      throw placed(Error(ErrorKind::Unsupported, encoding_name(encoding_number(page.encoding)) +
                                                     " values are not read for this column"),
                   &page);
    }
    if (page.type != PageType::DATA_PAGE) return;
    if (column.max_definition_level > 0) {
      refuse_levels(page, page.definition_level_encoding, "definition");
    }
    if (column.nesting.max_repetition_level() > 0) {
      refuse_levels(page, page.repetition_level_encoding, "repetition");
    }
  }

  void refuse_levels(const Page& page, i8 encoding, const char* which) const {
    if (reads_levels(encoding)) return;
    throw placed(Error(ErrorKind::Unsupported, encoding_name(encoding_number(encoding)) + " " +
                                                   which + " levels are not read"),
                 &page);
  }

  void check_size(const Page& page) const {
    if (page.uncompressed_page_size <= spec_.max_page_bytes) return;
    Error error = page_bytes_error(static_cast<u64>(page.uncompressed_page_size), spec_);
    error.field = "PageHeader.uncompressed_page_size";
    throw placed(std::move(error), &page);
  }

  void drop_dictionary() {
    const auto is_dictionary = [](const PageTask& task) {
      return task.page.type == PageType::DICTIONARY_PAGE;
    };
    tasks_.erase(std::remove_if(tasks_.begin(), tasks_.end(), is_dictionary), tasks_.end());
  }

  [[noreturn]] void disagree() const {
    throw placed(wrong_rows(chunk_, next_row_, next_row_ > chunk_.num_rows));
  }

  Error placed(Error error, const Page* page = nullptr) const {
    error.row_group = chunk_.row_group;
    error.leaf = spec_.columns()[chunk_.column].leaf;
    if (page != nullptr) {
      error.page = page->page;
      error.offset = page->offset;
    }
    return error;
  }

  Read& read_;
  const ReadSpec& spec_;
  const ChunkSpec& chunk_;
  const u32 ordinal_;
  std::vector<PageTask> tasks_;
  i64 next_row_ = 0;  // of the next data page
  i64 found_ = 0;     // wanted rows in the pages so far
  bool uses_dictionary_ = false;
};

// Numbers the pages with prefixes, each after the page of its chunk that they may reach into.
void number_last_values(Read& read) {
  std::vector<const PageTask*> before(read.spec.chunks.size());
  u32 count = 0;
  for (PageTask& task : read.tasks) {
    if (!has_prefixes(task.page)) continue;
    task.last_value = ++count;
    const PageTask* last = before[task.chunk];
    if (last != nullptr && last->page.page + 1 == task.page.page) {
      task.value_before = last->last_value;
    }
    before[task.chunk] = &task;
  }
  read.last_values = std::vector<LastValue>(count + 1);
}

}  // namespace

// Dictionaries are decoded a few chunks ahead of the pages that need them, so that no worker waits.
void find_pages(Read& read) {
  constexpr std::size_t AHEAD = 8;
  const std::size_t num_chunks = read.spec.chunks.size();
  std::vector<std::vector<PageTask>> chunks(num_chunks);
  for (std::size_t i = 0; i < num_chunks + AHEAD; ++i) {
    if (i < num_chunks) {
      chunks[i] = ChunkWalk(read, static_cast<u32>(i)).walk();
      for (const PageTask& task : chunks[i]) {
        if (task.page.type == PageType::DICTIONARY_PAGE) {
          read.dictionaries[i].state = Dictionary::State::PENDING;
          read.tasks.push_back(task);
        } else if (is_dictionary_encoding(task.page.encoding)) {
          ++read.dictionaries[i].pages_left;
        }
      }
    }
    if (i >= AHEAD) {
      for (const PageTask& task : chunks[i - AHEAD]) {
        if (task.page.type != PageType::DICTIONARY_PAGE) read.tasks.push_back(task);
      }
      chunks[i - AHEAD] = {};
    }
  }
  if (read.spec.prefixes_reach_back) number_last_values(read);
}

void find_dictionary(Read& read) {
  read.tasks.push_back(ChunkWalk(read, 0).dictionary());
  read.dictionaries[0].state = Dictionary::State::PENDING;
}

}  // namespace pq
