#include "footer_bulk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace pq {
namespace {

constexpr u64 FILES_PER_BLOCK = 64;
constexpr u64 MAGIC_BYTES = 4, TRAILER_BYTES = 8, READABLE_AFTER = 16;

template <int N>
struct Cells {
  std::vector<i64> columns[N];

  void append(NarrowTable<N>& table) {
    for (int c = 0; c < N; ++c) {
      const NarrowColumn& column = table.column(c);
      columns[c].resize(columns[c].size() + column.size);
      column.copy_to(columns[c].data() + columns[c].size() - column.size);
    }
  }
};

// What a thread makes of some files, one behind the other.
struct Block {
  std::vector<std::array<i64, FILE_COLUMNS>> files;
  Cells<CHUNK_COLUMNS> chunks;
  Cells<GROUP_COLUMNS> row_groups;
  std::vector<u8> statistics;
  std::unordered_map<std::string, u64> kind_of;
  std::vector<std::pair<std::string, std::string>> kinds;  // what tells them apart, the footer
};

class Descriptor {
 public:
  // Not blocking: to open a pipe that nobody writes to must not hang.
  explicit Descriptor(const std::string& path)
      : number(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool read(u8* to, u64 size, u64 offset) const {
    for (u64 done = 0; done < size;) {
      const ssize_t got = pread(number, to + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<u64>(got);
    }
    return true;
  }

  const int number;
};

i64 nanoseconds(const timespec& time) {
  return static_cast<i64>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

using FileRow = std::array<i64, FILE_COLUMNS>;

void set_state(const struct stat& status, FileRow& row) {
  row[FILE_SIZE] = static_cast<i64>(status.st_size);
  row[FILE_MTIME_NS] = nanoseconds(status.st_mtim);
  row[FILE_CTIME_NS] = nanoseconds(status.st_ctim);
  row[FILE_INODE] = static_cast<i64>(status.st_ino);
  row[FILE_DEVICE] = static_cast<i64>(status.st_dev);
}

void add_row(FileTable& files, const FileRow& row) {
  for (int c = 0; c < FILE_COLUMNS; ++c) files.cell(c) = row[static_cast<u64>(c)];
  files.next_row();
}

// Some files after the other, with memory that serves for all of them.
class BlockReader {
 public:
  explicit BlockReader(const BulkOptions& options) : options_(options) {}

  void add(const FooterSource& source, Block& block) {
    FileRow row{};
    const u8* data = source.data;
    u64 size = source.size;
    const bool has_bytes = data != nullptr || fetch(source.path, row, data, size);
    if (has_bytes && parse(data, size, row, block)) row[FILE_OK] = 1;
    block.files.push_back(row);
  }

 private:
  // The bytes of FileMetaData; false for whatever is not a plain Parquet file that holds still.
  bool fetch(const std::string& path, FileRow& row, const u8*& data, u64& size) {
    const Descriptor file(path);
    struct stat status{};
    if (file.number < 0 || fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) {
      return false;
    }
    const u64 file_size = static_cast<u64>(status.st_size);
    if (file_size < MAGIC_BYTES + TRAILER_BYTES) return false;
    u64 read = std::min(file_size, options_.guess_bytes);
    buffer_.resize(read + READABLE_AFTER);
    if (!file.read(buffer_.data(), read, file_size - read)) return false;
    const u8* trailer = buffer_.data() + read - TRAILER_BYTES;
    u32 stated;
    std::memcpy(&stated, trailer, 4);
    if (std::memcmp(trailer + 4, "PAR1", MAGIC_BYTES) != 0 || stated > options_.footer_bytes ||
        stated > file_size - MAGIC_BYTES - TRAILER_BYTES) {
      return false;
    }
    size = stated;
    const u64 needed = size + TRAILER_BYTES;
    if (needed > read) {
      read = needed;
      buffer_.resize(read + READABLE_AFTER);
      if (!file.read(buffer_.data(), read, file_size - read)) return false;
    }
    data = buffer_.data() + read - needed;
    struct stat after{};
    if (fstat(file.number, &after) != 0 || after.st_size != status.st_size ||
        nanoseconds(after.st_mtim) != nanoseconds(status.st_mtim) ||
        nanoseconds(after.st_ctim) != nanoseconds(status.st_ctim)) {
      return false;
    }
    set_state(status, row);
    return true;
  }

  bool parse(const u8* data, u64 size, FileRow& row, Block& block) {
    FooterReader in(data, size);
    try {
      footer_->chunks.reset();
      footer_->row_groups.reset();
      footer_->schema = Schema();
      footer_->num_rows = 0;
      footer_->num_row_groups = 0;
      footer_->has_created_by = false;
      footer_->column_orders.clear();
      read_footer(in, options_.limits, /*predict=*/true, *footer_);
    } catch (const Error&) {
      footer_ = std::make_unique<Footer>();
      return false;
    }
    row[FILE_FOOTER_BYTES] = static_cast<i64>(size);
    row[FILE_NUM_ROWS] = footer_->num_rows;
    row[FILE_NUM_ROW_GROUPS] = static_cast<i64>(footer_->num_row_groups);
    row[FILE_KIND] = static_cast<i64>(kind(data, size, block));
    const u64 before = block.chunks.columns[0].size();
    block.chunks.append(footer_->chunks);
    block.row_groups.append(footer_->row_groups);
    keep_statistics(data, size, before, block);
    return true;
  }

  u64 kind(const u8* data, u64 size, Block& block) {
    const auto add = [&](const ThriftSpan& span) {
      key_.append(reinterpret_cast<const char*>(data) + span.start, span.size);
    };
    key_.clear();
    key_ += footer_->has_created_by ? '1' : '0';
    key_ += std::to_string(footer_->schema.elements.size) + ' ';
    add(footer_->schema.elements);
    key_.append(footer_->column_orders.begin(), footer_->column_orders.end());
    if (footer_->has_created_by) add(footer_->created_by);
    const auto [found, is_new] = block.kind_of.try_emplace(key_, block.kinds.size());
    if (is_new) {
      block.kinds.emplace_back(key_, std::string(reinterpret_cast<const char*>(data), size));
    }
    return found->second;
  }

  // Copies the Statistics structs of the chunks from row `before` on.
  static void keep_statistics(const u8* data, u64 size, u64 before, Block& block) {
    const std::vector<i64>& position = block.chunks.columns[CHUNK_POSITION];
    std::vector<i64>& statistics = block.chunks.columns[CHUNK_STATISTICS_POSITION];
    for (u64 i = before; i < position.size(); ++i) {
      if (statistics[i] == 0) continue;
      const u64 start = static_cast<u64>(position[i] + statistics[i]);
      FooterReader in(data, size, start);
      in.skip(ThriftType::STRUCT);
      statistics[i] = static_cast<i64>(block.statistics.size()) + 1;
      block.statistics.insert(block.statistics.end(), data + start, data + in.position);
    }
  }

  const BulkOptions& options_;
  std::unique_ptr<Footer> footer_ = std::make_unique<Footer>();  // its tables are large
  std::vector<u8> buffer_;
  std::string key_;
};

template <int N>
void append(NarrowTable<N>& table, Cells<N>& cells) {
  for (int c = 0; c < N; ++c) {
    table.column(c).append(cells.columns[c].data(), cells.columns[c].size());
    std::vector<i64>().swap(cells.columns[c]);
  }
}

void join(std::vector<Block>& blocks, u64 num_files, Footers& footers) {
  u64 num_chunks = 0, num_groups = 0;
  for (const Block& block : blocks) {
    num_chunks += block.chunks.columns[0].size();
    num_groups += block.row_groups.columns[0].size();
  }
  footers.files.resize(num_files);
  footers.chunks.resize(num_chunks);
  footers.row_groups.resize(num_groups);
  footers.statistics.assign(1, 0);
  std::unordered_map<std::string, u64> kind_of;
  for (Block& block : blocks) {
    std::vector<u64> kinds;
    for (auto& [key, footer] : block.kinds) {
      const auto [found, is_new] = kind_of.try_emplace(std::move(key), footers.kinds.size());
      if (is_new) footers.kinds.push_back(std::move(footer));
      kinds.push_back(found->second);
    }
    for (FileRow& row : block.files) {
      if (row[FILE_OK]) row[FILE_KIND] = static_cast<i64>(kinds[static_cast<u64>(row[FILE_KIND])]);
      add_row(footers.files, row);
    }
    const i64 base = static_cast<i64>(footers.statistics.size()) - 1;
    for (i64& position : block.chunks.columns[CHUNK_STATISTICS_POSITION]) {
      if (position != 0) position += base;
    }
    footers.statistics.insert(footers.statistics.end(), block.statistics.begin(),
                              block.statistics.end());
    append(footers.chunks, block.chunks);
    append(footers.row_groups, block.row_groups);
    block = Block();
  }
  footers.files.flush();
}

}  // namespace

void read_footers(const std::vector<FooterSource>& sources, const BulkOptions& options,
                  const std::function<bool()>& go_on, Footers& footers) {
  const u64 num_blocks = (sources.size() + FILES_PER_BLOCK - 1) / FILES_PER_BLOCK;
  std::vector<Block> blocks(num_blocks);
  std::atomic<u64> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::condition_variable ended;
  unsigned working = 0;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      BlockReader reader(options);
      for (u64 b; !stopped && (b = next.fetch_add(1)) < num_blocks;) {
        const u64 stop = std::min<u64>((b + 1) * FILES_PER_BLOCK, sources.size());
        for (u64 i = b * FILES_PER_BLOCK; i < stop; ++i) reader.add(sources[i], blocks[b]);
      }
    } catch (...) {  // no memory
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
      stopped = true;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    --working;
    ended.notify_all();
  };
  std::vector<std::thread> threads;
  try {
    for (u64 i = 0; i < std::min<u64>(std::max(1u, options.threads), num_blocks); ++i) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        ++working;
      }
      threads.emplace_back(run);
    }
  } catch (const std::system_error&) {  // no more threads to be had: fewer do it
    const std::lock_guard<std::mutex> lock(mutex);
    --working;
  }
  if (threads.empty()) {
    ++working;
    run();
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (working != 0) {
      ended.wait_for(lock, std::chrono::milliseconds(100));
      if (working == 0 || stopped) continue;
      lock.unlock();
      if (!go_on()) stopped = true;
      lock.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (!stopped) join(blocks, sources.size(), footers);
}

void stat_files(const std::vector<std::string>& paths, FileTable& files) {
  files.resize(paths.size());
  for (const std::string& path : paths) {
    FileRow row{};
    struct stat status{};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      row[FILE_OK] = 1;
      set_state(status, row);
    }
    add_row(files, row);
  }
  files.flush();
}

}  // namespace pq
