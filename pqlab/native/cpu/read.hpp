// One read: what is asked for, the pages found for it, and the columns that they are decoded into.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "columns.hpp"
#include "decoded.hpp"
#include "event.cuh"
#include "fetch.hpp"
#include "memory.hpp"
#include "nested.hpp"
#include "page.cuh"
#include "plan.cuh"
#include "thread_pool.hpp"
#include "values.hpp"
#include "words.hpp"

namespace pq {

// As numbered in parquet.thrift.
enum class Encoding : i8 {
  PLAIN = 0,
  PLAIN_DICTIONARY = 2,
  RLE = 3,
  BIT_PACKED = 4,
  DELTA_BINARY_PACKED = 5,
  DELTA_LENGTH_BYTE_ARRAY = 6,
  DELTA_BYTE_ARRAY = 7,
  RLE_DICTIONARY = 8,
  BYTE_STREAM_SPLIT = 9,
  ALP = 10,
};
std::string encoding_name(i8 encoding);

// Rows [start, stop) of a row group, which become the output's rows from `out` on.
struct RowRange {
  i64 start;
  i64 stop;
  i64 out;
};

// Consecutive pages in memory. `first_row`: of the first data page, within the row group;
// `num_rows`: of them all, -1 where that is not known.
struct FileRun {
  const u8* data;  // null until it is fetched
  u64 size;
  i64 offset;  // in the file
  i32 first_page;
  i64 first_row;
  i64 num_rows;
  u32 piece;  // of ReadSpec::fetch, where the bytes are, once they are
};

struct ChunkSpec {
  u32 column;  // of the output
  i32 row_group;
  i32 codec;
  i64 num_rows;    // of the row group
  i64 num_values;  // of the chunk, as its metadata says
  bool resolved;   // the runs are some of the pages; else the one run is the whole chunk
  u32 first_run;   // in ReadSpec::runs
  u32 num_runs;
  u32 first_range;  // in ReadSpec::ranges
  u32 num_ranges;
};

// All that a read needs: whoever has it may run it, whenever and in whatever thread.
struct ReadSpec {
  std::shared_ptr<const ColumnSet> column_set;
  std::vector<ChunkSpec> chunks;
  std::vector<FileRun> runs;
  std::vector<RowRange> ranges;
  Fetch fetch;       // of the runs
  i64 num_rows = 0;  // of the output
  u32 workers = 1;
  bool verify_checksums = false;
  bool trace = false;
  bool is_compressed_is_wrong = false;  // DataPageHeaderV2.is_compressed: the writer left it false
  bool prefixes_reach_back = false;     // DELTA_BYTE_ARRAY's, into the page before (PARQUET-246)
  i64 max_page_bytes = 0;               // limits: of a page, uncompressed
  i64 max_read_bytes = 0;               // of all that is decoded
  bool for_polars = false;              // dates beyond its calendar are refused

  const std::vector<ColumnSpec>& columns() const { return column_set->leaves; }
};

struct ColumnOutput {
  Buffer values;    // stride bytes a row; BITS: a bitmap
  Buffer validity;  // a bitmap; empty: the values' own field is not optional
  std::atomic<i64> null_count{0};
  u32 num_view_buffers = 0;
  std::vector<ViewBuffer> view_buffers;
  std::unique_ptr<Words> words;  // that CODES stand for
  NestedOutput nested;

  void sort_words();
};

// A data page, or a dictionary page, to decode.
struct PageTask {
  u32 chunk;
  Page page;
  const FileRun* run;
  const u8* body;
  u32 view_buffer;  // of the column; its own, where views may point into the page
  // In Read::last_values: the page's own, and that of the page before; 0: none.
  u32 last_value;
  u32 value_before;
  u32 turn = 0;  // among the data pages of a nested column

  bool has_indices() const {
    const auto encoding = static_cast<Encoding>(page.encoding);
    return encoding == Encoding::PLAIN_DICTIONARY || encoding == Encoding::RLE_DICTIONARY;
  }
  // Whether views of its values may point into what it holds once decompressed.
  bool views_point_into_body() const {
    const auto encoding = static_cast<Encoding>(page.encoding);
    return encoding == Encoding::PLAIN || encoding == Encoding::DELTA_LENGTH_BYTE_ARRAY;
  }
  u64 body_bytes() const { return static_cast<u64>(page.total_bytes - page.header_bytes); }
};

// A chunk's dictionary; data pages wait for it.
struct Dictionary {
  enum class State : u8 { ABSENT, PENDING, READY, FAILED };

  std::atomic<State> state{State::ABSENT};
  std::atomic<u32> pages_left{0};  // the entries are freed after the last
  Buffer entries;
  u64 num_entries = 0;
  bool is_in_calendar = false;  // all of them: then so is what names them
};

// The last value of a page in DELTA_BYTE_ARRAY, where the page after it may need that.
struct LastValue {
  enum class State : u8 { PENDING, READY, FAILED };

  std::atomic<State> state{State::PENDING};
  std::string value;
};

// What one worker records; a cache line of its own, since every push writes the vector's end.
struct alignas(64) WorkerEvents : std::vector<Event> {};

// What is known of a chunk of a nested column between one of its pages and the next.
struct ChunkRows {
  const FileRun* run = nullptr;  // of the page before
  i64 next_row = 0;              // the first that has not begun
  i64 found = 0;                 // wanted rows that have begun
  Level last_level = 0;          // the definition level of the last entry
};

// Of a page of a nested column, which of its rows are wanted; `all`: nothing is to be cut.
struct KeptRows {
  std::vector<PageRange> rows;
  bool all = true;
};

struct Read;

// Which rows the pages of nested columns hold, as their levels say. Throws where levels, headers
// and the row group disagree.
class NestedRows {
 public:
  explicit NestedRows(const Read& read);

  // Of each page of a chunk, in order; of different chunks at the same time.
  KeptRows add(const PageTask& task, const NestedPage& page);
  // Once all pages are added.
  void check_totals() const;

 private:
  KeptRows keep(const ChunkSpec& chunk, i64 first, ChunkRows& rows, const NestedPage& page) const;

  const Read& read_;
  std::vector<ChunkRows> chunks_;
};

struct Read {
  const ReadSpec& spec;
  const u64 id;          // of this read alone
  i64 queued_at_ns = 0;  // when its tasks were handed to the workers; 0 where nothing is recorded
  std::vector<ColumnOutput> columns;
  std::vector<Dictionary> dictionaries;     // of the chunks
  std::vector<PageTask> tasks;              // dictionaries before the pages that use them
  std::unique_ptr<NestedRows> nested_rows;  // where a column is nested
  std::vector<NestedPage> nested_pages;     // of the tasks, where a device decodes them
  std::vector<WorkerEvents> events;         // of the workers
  std::vector<LastValue> last_values;       // from 1 on
  std::atomic<u64> decoded_bytes{0};        // as ReadSpec::max_read_bytes counts them
  std::mutex mutex;                         // of the states above, for those that wait
  std::condition_variable dictionary_done;
  std::condition_variable page_placed;
  std::condition_variable last_value_done;

  explicit Read(const ReadSpec& spec_);

  // Once the pages are found: what they are decoded with.
  void make_ready();

  const ColumnSpec& column(const PageTask& task) const {
    return spec.columns()[spec.chunks[task.chunk].column];
  }
  NestedPage& nested_page(const PageTask& task) {
    return nested_pages[static_cast<u64>(&task - tasks.data())];
  }
};

// The errors for what is above ReadSpec's limits.
Error page_bytes_error(u64 needed, const ReadSpec& spec);
Error read_bytes_error(u64 needed, const ReadSpec& spec);

// Throws the latter. Counted are, of flat columns, the outputs; of nested ones what is given: what
// a device takes for the pages, then for the outputs, or what the outputs have room for.
// `joined_bytes`: what values of the pages have unfolded to so far.
void check_read_bytes(Read& read, double nested_bytes, u64 joined_bytes);
double nested_page_bytes(const Read& read);
double nested_output_bytes(const Read& read);

// What is wrong with a chunk whose pages hold so many rows (`or_more`: at least), or so many of the
// rows that are wanted.
Error wrong_rows(const ChunkSpec& chunk, i64 rows, bool or_more);
Error missing_rows(i64 found, i64 wanted);
i64 wanted_rows(const ReadSpec& spec, const ChunkSpec& chunk);

// Before the pages of nested columns are decoded: NestedOutput::slots becomes what the memory of
// their outputs must hold, and the pages get their turns.
void make_room(Read& read);

// In its turn, a page's part of the outputs begins where that of the page before it ends.
void place(Read& read, const PageTask& task, NestedPage& page);

// For a device, which decodes all pages before it asks where their rows go: what is cut of each,
// and then, once that is, where its part lies in the outputs.
struct PageCut {
  u64 task;
  std::vector<PageRange> rows;
};
std::vector<PageCut> find_nested_rows(Read& read);
void lay_out_nested(Read& read);

// What is read, by the specification's codes; all else is refused.
bool reads_encoding(PageType page_type, i8 encoding, Kind kind);
bool reads_codec(i32 codec);

// Walks the page headers of every chunk and keeps the pages that hold rows of its ranges. Throws
// for headers that are corrupt, counts that disagree with the row group's, and what is not read.
void find_pages(Read& read);

// Finds the dictionary page that begins the one run of a read's one chunk.
void find_dictionary(Read& read);

// Decodes that page: the column's values become the dictionary's entries. Gives their number.
i64 run_dictionary(Read& read);

// How far a read is. `num_pages`: 0 until they are found. Bytes are compressed, with page headers.
struct Progress {
  std::atomic<u64> num_pages{0};
  std::atomic<u64> pages_done{0};
  std::atomic<u64> bytes_done{0};
};

// A read as work for the pool: fetch, find the pages, take memory, decode; then what words need.
// `next` sets up the phase that follows.
class ReadWork {
 public:
  explicit ReadWork(ReadSpec spec) : spec_(std::move(spec)), read_(spec_) {}

  bool next(Phase& phase);

  Read& read() { return read_; }
  const ReadSpec& spec() const { return spec_; }
  const Progress& progress() const { return progress_; }

 private:
  using Step = bool (ReadWork::*)(Phase&);

  bool fetch(Phase& phase);
  bool decode(Phase& phase);
  void find_units();
  bool sort_words(Phase& phase);
  bool finish(Phase& phase);

  ReadSpec spec_;
  Read read_;
  Progress progress_;
  u64 step_ = 0;
  bool small_ = false;
  bool any_nested_ = false;
  std::vector<u64> units_;  // of the decoding: where each begins among the tasks; and their end
  std::vector<ColumnOutput*> coded_;
};

// Leaves under one root column must agree on the lists and groups above them. What is above one
// and the leaf before it is freed of the later one.
void agree(Read& read);

// Whether polars has a date for each of the values, `count` of the column's.
bool is_in_calendar(const ColumnSpec& column, const u8* values, u64 count);

// Refuses those for which it has none.
void check_calendar(const ColumnSpec& column, const u8* values, u64 count);

// What a read that ran has decoded; `num_rows`: of the output.
Decoded take_decoded(Read& read, i64 num_rows);

}  // namespace pq
