#include "page_index.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "page_header.cuh"
#include "thrift_text.hpp"

namespace pq {
namespace {

constexpr u64 MIN_LOCATION_BYTES = 7;  // three fields of two bytes and the stop
constexpr u64 CHUNKS_PER_TASK = 8;

constexpr const char* LOCATION_FIELDS[] = {"PageLocation", "PageLocation.offset",
                                           "PageLocation.compressed_page_size",
                                           "PageLocation.first_row_index"};

[[noreturn]] void corrupt(const char* field, const std::string& message, u64 where, i64 page = -2) {
  Error error(ErrorKind::Corrupt, message, field, static_cast<i64>(where));
  error.page = page;
  throw error;
}

void check(const ThriftReader& in, const char* field, i64 page = -2) {
  if (!in.ok()) corrupt(field, thrift_text(in.status), in.failed_at, page);
}

// ------------------------------------------------------------------------------- offset index

struct Location {
  i64 offset;
  i64 size;
  i64 first_row;
};

// The bytes that every writer produces: the three fields in order, then the stop.
bool read_usual_location(ThriftReader& in, Location& location) {
  const u64 start = in.position;
  if (in.read_byte() == 0x16) {
    location.offset = in.read_zigzag();
    if (in.read_byte() == 0x15) {
      location.size = in.read_zigzag();
      if (in.read_byte() == 0x16) {
        location.first_row = in.read_zigzag();
        if (in.read_byte() == 0 && in.ok()) return true;
      }
    }
  }
  if (in.ok()) in.position = start;
  return false;
}

void read_location(ThriftReader& in, Location& location, i64 page) {
  if (read_usual_location(in, location)) return;
  check(in, LOCATION_FIELDS[0], page);
  unsigned seen = 0;
  ThriftField field;
  while (in.next_field(field)) {
    switch (field.id) {
      case 1: location.offset = in.read_i64(field); break;
      case 2: location.size = in.read_i32(field); break;
      case 3: location.first_row = in.read_i64(field); break;
      default: in.skip(field.type); continue;
    }
    check(in, LOCATION_FIELDS[field.id], page);
    seen |= 1u << field.id;
  }
  check(in, LOCATION_FIELDS[0], page);
  for (int id = 1; id <= 3; ++id) {
    if ((seen >> id & 1) == 0) {
      corrupt(LOCATION_FIELDS[id], "the required field is absent", in.position, page);
    }
  }
}

// Moves to the first element of OffsetIndex.page_locations; returns their number.
u64 find_locations(ThriftReader& in) {
  constexpr const char* name = "OffsetIndex.page_locations";
  ThriftField field;
  while (in.next_field(field)) {
    if (field.id == 1) {
      const u64 start = in.position;
      const u64 count = in.read_list(field, ThriftType::STRUCT).size;
      check(in, name);
      if (count > in.left() / MIN_LOCATION_BYTES) {
        corrupt(name, std::to_string(count) + " pages in " + std::to_string(in.left()) + " bytes",
                start);
      }
      return count;
    }
    in.skip(field.type);
  }
  check(in, "OffsetIndex");
  corrupt(name, "the required field is absent", in.position);
}

// Pages follow each other without gaps, from row 0 on, and fill their chunk: an index that does not
// say so was written wrong (sizes without headers, rows counted in values, pages of offset -1).
void check_location(const IndexedChunk& chunk, const Location& location, const Location& before,
                    i64 page, u64 where) {
  const i64 previous_stop = before.offset + before.size;
  if (location.size <= 0 || location.size > 0x7fffffff)
    corrupt(LOCATION_FIELDS[2], "a size of " + std::to_string(location.size), where, page);
  if (location.offset < chunk.start || location.offset > chunk.stop - location.size) {
    corrupt(LOCATION_FIELDS[1],
            "bytes " + std::to_string(location.offset) + " and " + std::to_string(location.size) +
                " more lie outside of the column chunk",
            where, page);
  }
  if (page > 0 && location.offset != previous_stop)
    corrupt(LOCATION_FIELDS[1],
            "at byte " + std::to_string(location.offset) + ", the page before ends at " +
                std::to_string(previous_stop),
            where, page);
  if (page == 0 ? location.first_row != 0 : location.first_row <= before.first_row)
    corrupt(LOCATION_FIELDS[3],
            "row " + std::to_string(location.first_row) + " does not follow the page before", where,
            page);
  if (location.first_row > chunk.num_rows)
    corrupt(LOCATION_FIELDS[3],
            "row " + std::to_string(location.first_row) + " of a row group of " +
                std::to_string(chunk.num_rows) + " rows",
            where, page);
}

void set_rows(Page& page, i64 stop_row, bool flat) {
  const i64 rows = stop_row - page.first_row;
  page.num_rows = rows <= 0x7fffffff ? static_cast<i32>(rows) : -1;
  if (flat) page.num_values = page.num_rows;
}

void read_offset_index(ThriftReader& in, const IndexedChunk& chunk, Page* pages, u64 count) {
  const bool flat = (chunk.flags & CHUNK_IS_FLAT) != 0;
  Page blank = unknown_page();
  blank.row_group = chunk.row_group;
  blank.leaf = chunk.leaf;
  blank.known_from = KNOWN_FROM_INDEX;
  Location before{chunk.start, 0, 0};
  for (u64 i = 0; i < count; ++i) {
    const u64 where = in.position;
    Location location{};
    read_location(in, location, static_cast<i64>(i));
    check_location(chunk, location, before, static_cast<i64>(i), where);
    Page& page = pages[i];
    page = blank;
    page.page = static_cast<i32>(i);
    page.offset = location.offset;
    page.total_bytes = static_cast<i32>(location.size);
    page.first_row = location.first_row;
    if (i > 0) set_rows(pages[i - 1], location.first_row, flat);
    before = location;
  }
  set_rows(pages[count - 1], chunk.num_rows, flat);
  if (before.offset + before.size != chunk.stop)
    corrupt(LOCATION_FIELDS[2],
            "the last page ends at byte " + std::to_string(before.offset + before.size) +
                ", the column chunk at " + std::to_string(chunk.stop),
            in.position, static_cast<i64>(count) - 1);
}

// The dictionary page stands first in its chunk: up to the first data page.
bool has_dictionary_row(const IndexedChunk& chunk, i64 first_data_page) {
  if (chunk.dictionary_offset >= 0) return true;
  return (chunk.flags & CHUNK_MAY_HAVE_DICTIONARY) != 0 && first_data_page > chunk.start;
}

Page dictionary_row(const IndexedChunk& chunk, i64 first_data_page) {
  Page page = unknown_page();
  page.row_group = chunk.row_group;
  page.leaf = chunk.leaf;
  page.page = -1;
  page.type = PageType::DICTIONARY_PAGE;
  page.known_from = KNOWN_FROM_INDEX;
  page.offset = chunk.dictionary_offset >= 0 ? chunk.dictionary_offset : chunk.start;
  const i64 bytes = first_data_page - page.offset;
  if (bytes > 0 && bytes <= 0x7fffffff) page.total_bytes = static_cast<i32>(bytes);
  return page;
}

// ------------------------------------------------------------------------------- column index

// ColumnIndex, into rows that the offset index made. What it holds is optional: a contradiction
// throws, and the caller takes the bounds back.
class ColumnIndexReader {
 public:
  ColumnIndexReader(const ThriftReader& in, Page* pages, u64 count)
      : in_(in), pages_(pages), count_(count) {}

  void read() {
    unsigned seen = 0;
    ThriftField field;
    while (in_.next_field(field)) {
      switch (field.id) {
        case 1: read_null_pages(field); break;
        case 2:
          read_bounds(field, "ColumnIndex.min_values", &Page::min_start, &Page::min_length);
          break;
        case 3:
          read_bounds(field, "ColumnIndex.max_values", &Page::max_start, &Page::max_length);
          break;
        case 5: read_null_counts(field); break;
        default: in_.skip(field.type); continue;
      }
      seen |= 1u << field.id;
    }
    check(in_, "ColumnIndex");
    constexpr const char* required[] = {"ColumnIndex.null_pages", "ColumnIndex.min_values",
                                        "ColumnIndex.max_values"};
    for (int id = 1; id <= 3; ++id) {
      if ((seen >> id & 1) == 0)
        corrupt(required[id - 1], "the required field is absent", in_.position);
    }
    settle();
  }

 private:
  ThriftReader in_;
  Page* pages_;
  u64 count_;

  void read_list(const ThriftField& field, ThriftType element, const char* name) {
    const u64 start = in_.position;
    const u64 size = in_.read_list(field, element).size;
    check(in_, name);
    if (size != count_) {
      corrupt(name, std::to_string(size) + " elements for " + std::to_string(count_) + " pages",
              start);
    }
  }

  void read_null_pages(const ThriftField& field) {
    read_list(field, ThriftType::BOOL_TRUE, "ColumnIndex.null_pages");
    for (u64 i = 0; i < count_; ++i) {
      const bool is_null = in_.read_byte() == 1;
      pages_[i].bounds_state = is_null ? BoundsState::EMPTY : BoundsState::PRESENT;
    }
    check(in_, "ColumnIndex.null_pages");
  }

  void read_bounds(const ThriftField& field, const char* name, i64 Page::* start,
                   i32 Page::* length) {
    read_list(field, ThriftType::BINARY, name);
    for (u64 i = 0; i < count_; ++i) {
      const ThriftSpan span = in_.read_binary();
      pages_[i].*start = static_cast<i64>(span.start);
      pages_[i].*length = static_cast<i32>(span.size);
    }
    check(in_, name);
  }

  void read_null_counts(const ThriftField& field) {
    constexpr const char* name = "ColumnIndex.null_counts";
    read_list(field, ThriftType::I64, name);
    for (u64 i = 0; i < count_; ++i) {
      const i64 nulls = in_.read_zigzag();  // some write -1 for a number that they do not know
      pages_[i].num_nulls = nulls >= 0 && nulls <= 0x7fffffff ? static_cast<i32>(nulls) : -1;
    }
    check(in_, name);
  }

  // The bounds of a page of nulls mean nothing.
  void settle() {
    for (u64 i = 0; i < count_; ++i) {
      Page& page = pages_[i];
      if (page.bounds_state != BoundsState::EMPTY) continue;
      page.min_start = page.max_start = -1;
      page.min_length = page.max_length = 0;
    }
  }
};

void forget_column_index(Page* pages, u64 count) {
  for (u64 i = 0; i < count; ++i) {
    pages[i].min_start = pages[i].max_start = -1;
    pages[i].min_length = pages[i].max_length = 0;
    pages[i].num_nulls = -1;
    pages[i].bounds_state = BoundsState::ABSENT;
  }
}

// ------------------------------------------------------------------------------------ in bulk

// Runs `work(chunk)` for all chunks on `threads` threads; the error of the first chunk wins.
template <class Work>
void for_each_chunk(u64 num_chunks, unsigned threads, const IndexedChunk* chunks, Work work) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  u64 error_chunk = num_chunks;
  auto run = [&] {
    for (;;) {
      const u64 begin = next.fetch_add(CHUNKS_PER_TASK);
      if (begin >= num_chunks) return;
      for (u64 i = begin; i < std::min(begin + CHUNKS_PER_TASK, num_chunks); ++i) {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard<std::mutex> lock(mutex);
          if (i < error_chunk) {
            error_chunk = i;
            error = std::current_exception();
          }
          break;
        }
      }
    }
  };
  const u64 tasks = (num_chunks + CHUNKS_PER_TASK - 1) / CHUNKS_PER_TASK;
  std::vector<std::thread> helpers;
  try {
    for (u64 i = 1; i < std::min<u64>(threads, tasks); ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {  // no more threads to be had: fewer do it
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (Error& place) {
    place.row_group = chunks[error_chunk].row_group;
    place.leaf = chunks[error_chunk].leaf;
    throw;
  }
}

class BulkReader {
 public:
  BulkReader(const u8* data, u64 size, const IndexedChunk* chunks, u64 num_chunks, u64 max_pages,
             unsigned threads)
      : data_(data),
        size_(size),
        chunks_(chunks),
        num_chunks_(num_chunks),
        max_pages_(max_pages),
        threads_(threads),
        first_(num_chunks + 1) {}

  PageIndexResult read() {
    for_each_chunk(num_chunks_, threads_, chunks_, [this](u64 i) { count(i); });
    for (u64 i = 0; i < num_chunks_; ++i) first_[i + 1] += first_[i];
    pages_ = allocate(first_[num_chunks_]);
    std::unique_ptr<Page, decltype(&std::free)> guard(pages_, &std::free);
    for_each_chunk(num_chunks_, threads_, chunks_, [this](u64 i) { fill(i); });
    std::sort(refused_.begin(), refused_.end(),
              [](const RefusedIndex& a, const RefusedIndex& b) { return a.chunk < b.chunk; });
    const u64 num_pages = refused_.empty() ? first_[num_chunks_] : compact();
    return {std::move(refused_), guard.release(), num_pages};
  }

 private:
  static constexpr u8 REFUSED = 255;  // in Page::known_from

  // Large tables lie in huge pages, as numpy's arrays do: to touch 47 MB for the first time took
  // 4 ms instead of 20, as long as the whole parse.
  static Page* allocate(u64 num_pages) {
    constexpr u64 HUGE_PAGE_BYTES = 2u << 20;
    const u64 bytes = std::max<u64>(num_pages, 1) * sizeof(Page);
    const bool large = bytes >= 2 * HUGE_PAGE_BYTES;
    void* memory = nullptr;
    if (posix_memalign(&memory, large ? HUGE_PAGE_BYTES : 64, bytes) != 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
#endif
    return static_cast<Page*>(memory);
  }

  const u8* data_;
  u64 size_;
  const IndexedChunk* chunks_;
  u64 num_chunks_;
  u64 max_pages_;
  unsigned threads_;
  std::vector<u64> first_;  // of each chunk's rows
  Page* pages_ = nullptr;
  std::vector<RefusedIndex> refused_;
  std::mutex refused_mutex_;

  ThriftReader reader(i64 start, i32 length) const {
    const u64 begin = static_cast<u64>(start);
    if (start < 0 || length < 0 || begin > size_ || static_cast<u64>(length) > size_ - begin)
      throw Error(ErrorKind::Corrupt, "an index outside of the bytes given");
    return ThriftReader(data_, begin + static_cast<u64>(length), begin);
  }

  void refuse(u64 i, bool is_offset_index, const Error& error) {
    const std::lock_guard<std::mutex> lock(refused_mutex_);
    refused_.push_back(
        {static_cast<i64>(i), is_offset_index, error.page, error.field, error.message});
  }

  // The rows that a chunk takes, into first_[i + 1].
  void count(u64 i) {
    try {
      first_[i + 1] = count_rows(chunks_[i]);
    } catch (const Error& error) {
      if (error.kind != ErrorKind::Corrupt) throw;
      refuse(i, true, error);
    }
  }

  u64 count_rows(const IndexedChunk& chunk) const {
    ThriftReader in = reader(chunk.offset_index_start, chunk.offset_index_length);
    const u64 pages = find_locations(in);
    if (pages > max_pages_) {
      Error error(ErrorKind::Limit,
                  std::to_string(pages) +
                      " pages in one column chunk, above the "
                      "limit pages = " +
                      std::to_string(max_pages_),
                  "OffsetIndex.page_locations");
      error.hint =
          "If you trust the file, pass limits=pqlab.Limits(pages=" + std::to_string(pages) + ")";
      throw error;
    }
    if (pages == 0) {
      if (chunk.start == chunk.stop) return 0;
      corrupt("OffsetIndex.page_locations", "no pages in a column chunk that is not empty",
              in.position);
    }
    Location first{};
    read_location(in, first, 0);
    return pages + (has_dictionary_row(chunk, first.offset) ? 1 : 0);
  }

  void fill(u64 i) {
    Page* pages = pages_ + first_[i];
    const u64 rows = first_[i + 1] - first_[i];
    if (rows == 0) return;
    try {
      fill_pages(chunks_[i], pages, rows);
    } catch (const Error& error) {
      refuse(i, true, error);
      for (u64 row = 0; row < rows; ++row) pages[row].known_from = REFUSED;
      return;
    }
    const u64 dictionary = pages[0].type == PageType::DICTIONARY_PAGE ? 1 : 0;
    fill_bounds(i, pages + dictionary, rows - dictionary);
  }

  void fill_pages(const IndexedChunk& chunk, Page* pages, u64 rows) const {
    ThriftReader in = reader(chunk.offset_index_start, chunk.offset_index_length);
    const u64 count = find_locations(in);
    read_offset_index(in, chunk, pages + (rows - count), count);
    if (rows > count) pages[0] = dictionary_row(chunk, pages[1].offset);
  }

  void fill_bounds(u64 i, Page* pages, u64 count) {
    const IndexedChunk& chunk = chunks_[i];
    if (chunk.column_index_length == 0) return;
    try {
      const ThriftReader in = reader(chunk.column_index_start, chunk.column_index_length);
      ColumnIndexReader(in, pages, count).read();
    } catch (const Error& error) {
      forget_column_index(pages, count);
      refuse(i, false, error);
    }
  }

  // Closes the gaps that refused offset indexes left.
  u64 compact() {
    Page* stop = std::remove_if(pages_, pages_ + first_[num_chunks_],
                                [](const Page& page) { return page.known_from == REFUSED; });
    return static_cast<u64>(stop - pages_);
  }
};

}  // namespace

PageIndexResult parse_page_index(const u8* data, u64 size, const IndexedChunk* chunks,
                                 u64 num_chunks, u64 max_pages, unsigned threads) {
  return BulkReader(data, size, chunks, num_chunks, max_pages, threads).read();
}

}  // namespace pq
