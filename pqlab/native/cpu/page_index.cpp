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

#include "page_index_structs.hpp"

namespace pq {
namespace {

constexpr u64 CHUNKS_PER_TASK = 8;

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
      throw Error(ErrorKind::Corrupt, "no pages in a column chunk that is not empty",
                  "OffsetIndex.page_locations", static_cast<i64>(in.position));
    }
    return pages + (has_dictionary_row(chunk, first_page_offset(in)) ? 1 : 0);
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
      read_column_index(in, pages, count);
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
