#include "memory.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

namespace pq {
namespace {

// Below it malloc is as fast, and wastes less than whole pages.
constexpr u64 POOLED_BYTES = 32 << 10;

constexpr u64 HUGE_PAGE_BYTES = 2 << 20;
constexpr u64 MAPPING_BYTES = 64 << 20;

constexpr u64 MOST_BYTES = 1ull << 62;  // of a buffer: sums with it do not overflow
// Unless told otherwise: a share that other programs can spare, and no more than makes a
// difference. A frame of 4 GiB takes seconds to decode, its memory afresh a fifth of that.
constexpr u64 KEPT_SHARE = 8;
constexpr u64 MOST_KEPT_BYTES = 4ull << 30;

u64 round_up(u64 size, u64 unit) { return (size + unit - 1) / unit * unit; }

u8* round_down(u8* pointer, u64 unit) {
  return pointer - reinterpret_cast<unsigned long>(pointer) % unit;
}
u8* round_up(u8* pointer, u64 unit) { return round_down(pointer + unit - 1, unit); }

u64 page_bytes() {
  static const u64 bytes = std::max<u64>(4096, static_cast<u64>(sysconf(_SC_PAGESIZE)));
  return bytes;
}

// Of the machine, or less where a container has less.
u64 memory_bytes() {
  u64 bytes = static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) continue;
    unsigned long long limit;
    if (std::fscanf(file, "%llu", &limit) == 1) bytes = std::min<u64>(bytes, limit);
    std::fclose(file);
  }
  return bytes;
}

// Of this thread: what others do meanwhile does not count.
i64 cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<i64>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Page faults are what fresh memory costs. Filling 500 MiB of it by two threads took 140 ms in
// pages of 4 KiB (128,000 faults), 120 ms where each thread populated what it was about to write,
// 29 ms in pages of 2 MiB (400 faults). But where the system has none at hand, because memory is
// fragmented or was lent back to a hypervisor, one of those took 2.3 ms instead of 0.05: 500 ms in
// all. So the first of every few is timed, and those after a slow one are small.
void choose_pages(u8* start, u64 bytes) {
#ifdef MADV_HUGEPAGE
  constexpr u64 STEP_BYTES = 4 * HUGE_PAGE_BYTES;
  constexpr i64 SLOW_NS = 400'000;
  constexpr i64 SMALL_BYTES = 128 << 20;
  static std::atomic<i64> small_bytes_left{0};
  u8* const stop = start + bytes;
  u8* next;
  for (u8* at = round_down(start, HUGE_PAGE_BYTES); at < stop; at = next) {
    next = std::min(at + STEP_BYTES, round_up(stop, HUGE_PAGE_BYTES));
    if (small_bytes_left.load(std::memory_order_relaxed) > 0) {
      madvise(at, static_cast<u64>(next - at), MADV_NOHUGEPAGE);
      small_bytes_left -= std::min(next, stop) - std::max(at, start);
      continue;
    }
    if (madvise(at, static_cast<u64>(next - at), MADV_HUGEPAGE) != 0) return;
    u8* const first = at < start ? at + HUGE_PAGE_BYTES : at;  // no other block is in this page yet
    if (first >= stop) return;
    const i64 begin_ns = cpu_ns();
    *static_cast<volatile u8*>(first) = 0;
    if (cpu_ns() - begin_ns < SLOW_NS) continue;
    madvise(first, static_cast<u64>(next - first), MADV_NOHUGEPAGE);
    small_bytes_left = SMALL_BYTES;
  }
#endif
}

// Blocks are runs of pages. Free runs are known by address, so that neighbours become one, and by
// size, so that a block is cut from the smallest that holds it: one that was used before, if any.
class Pool {
 public:
  // Never destroyed: buffers may outlive everything.
  static Pool& instance() {
    static Pool* const pool = [] {
      Pool* made = new Pool();
      pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { new (&instance().mutex_) std::mutex(); });
      return made;
    }();
    return *pool;
  }

  // A block of `bytes` (whole pages), or nullptr. `recycled`: else it is zero.
  u8* take(u64 bytes, bool& recycled) {
    const std::lock_guard<std::mutex> lock(mutex_);
    recycled = true;
    auto run = smallest(USED, bytes);
    if (run == runs_.end()) {
      recycled = false;
      run = smallest(UNUSED, bytes);
      if (run == runs_.end() && (run = map(bytes)) == runs_.end()) return nullptr;
    }
    u8* const start = cut(run, 0, bytes);
    use_.in_use_bytes += bytes;
    use_.high_water_bytes = std::max(use_.high_water_bytes, use_.in_use_bytes);
    use_.allocations += 1;
    use_.reuses += recycled ? 1 : 0;
    return start;
  }

  // `used`: else it is zero.
  void give_back(u8* start, u64 bytes, bool used) {
    const std::lock_guard<std::mutex> lock(mutex_);
    use_.in_use_bytes -= bytes;
    add(start, bytes, used ? USED : UNUSED);
    trim();
  }

  MemoryUse use() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return use_;
  }

  void limit(u64 kept_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    use_.limit_bytes = kept_bytes;
    trim();
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const u64 limit = std::exchange(use_.limit_bytes, 0);
    trim();
    use_.limit_bytes = limit;
  }

 private:
  enum State : u8 { UNUSED, USED };  // since it was mapped, or went back to the system
  struct Run {
    u64 bytes;
    State state;
  };
  using Runs = std::map<u8*, Run>;

  Pool() { use_.limit_bytes = std::min(memory_bytes() / KEPT_SHARE, MOST_KEPT_BYTES); }

  Runs::iterator smallest(State state, u64 bytes) {
    const auto found = by_size_[state].lower_bound({bytes, nullptr});
    return found == by_size_[state].end() ? runs_.end() : runs_.find(found->second);
  }

  Runs::iterator add(u8* start, u64 bytes, State state) {
    if (state == USED) use_.kept_bytes += bytes;
    auto after = runs_.lower_bound(start);
    if (after != runs_.end() && after->first == start + bytes && after->second.state == state) {
      bytes += after->second.bytes;
      after = forget(after);
    }
    if (after != runs_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second.bytes == start && before->second.state == state) {
        start = before->first;
        bytes += before->second.bytes;
        forget(before);
      }
    }
    by_size_[state].insert({bytes, start});
    return runs_.insert({start, {bytes, state}}).first;
  }

  Runs::iterator forget(Runs::iterator run) {
    by_size_[run->second.state].erase({run->second.bytes, run->first});
    return runs_.erase(run);
  }

  // Takes the bytes from `offset` on out of the run.
  u8* cut(Runs::iterator run, u64 offset, u64 bytes) {
    u8* const start = run->first;
    const Run whole = run->second;
    forget(run);
    if (whole.state == USED) use_.kept_bytes -= whole.bytes;
    const u64 stop = offset + bytes;
    if (offset != 0) add(start, offset, whole.state);
    if (stop != whole.bytes) add(start + stop, whole.bytes - stop, whole.state);
    return start + offset;
  }

  Runs::iterator map(u64 bytes) {
    const u64 least = round_up(bytes, HUGE_PAGE_BYTES);
    for (const u64 size : {std::max(least, MAPPING_BYTES), least}) {
      u8* const start = map_aligned(size);
      if (start == nullptr) continue;
      ASAN_POISON_MEMORY_REGION(start, size);
      return add(start, size, UNUSED);
    }
    return runs_.end();
  }

  static u8* map_aligned(u64 size) {
    const u64 whole = size + HUGE_PAGE_BYTES;
    void* const mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    u8* const base = static_cast<u8*>(mapped);
    u8* const start = round_up(base, HUGE_PAGE_BYTES);
    if (start != base) munmap(base, static_cast<u64>(start - base));
    munmap(start + size, static_cast<u64>(base + HUGE_PAGE_BYTES - start));
    return start;
  }

  // Gives what is kept above the limit back to the system, from the largest runs.
  void trim() {
    while (use_.kept_bytes > use_.limit_bytes) {
      const auto run = runs_.find(by_size_[USED].rbegin()->second);
      const u64 excess = round_up(use_.kept_bytes - use_.limit_bytes, HUGE_PAGE_BYTES);
      const u64 bytes = std::min(run->second.bytes, excess);
      u8* const start = cut(run, run->second.bytes - bytes, bytes);
      if (madvise(start, bytes, MADV_DONTNEED) != 0) {  // the process locks its memory
        ASAN_UNPOISON_MEMORY_REGION(start, bytes);
        std::memset(start, 0, bytes);
        ASAN_POISON_MEMORY_REGION(start, bytes);
      }
      unmap_most_of(add(start, bytes, UNUSED));
    }
  }

  // Addresses that are not used go back in large parts: mappings end at huge pages.
  void unmap_most_of(Runs::iterator run) {
    const u64 head = static_cast<u64>(round_up(run->first, HUGE_PAGE_BYTES) - run->first);
    const u64 bytes =
        (run->second.bytes - std::min(head, run->second.bytes)) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if (bytes >= MAPPING_BYTES) unmap(cut(run, head, bytes), bytes);
  }

  static void unmap(u8* start, u64 bytes) {
    ASAN_UNPOISON_MEMORY_REGION(start, bytes);
    munmap(start, bytes);
  }

  std::mutex mutex_;
  Runs runs_;
  std::set<std::pair<u64, u8*>> by_size_[2];  // of State
  MemoryUse use_{};
};

}  // namespace

Buffer::Buffer(u64 size, bool zeroed) : size_(size) {
  const u64 whole = size + ALIGNMENT;
  if (size <= MOST_BYTES && whole >= POOLED_BYTES) {
    block_bytes_ = round_up(whole, page_bytes());
    data_ = Pool::instance().take(block_bytes_, recycled_);
  } else if (size <= MOST_BYTES) {
    data_ = static_cast<u8*>(std::aligned_alloc(ALIGNMENT, round_up(whole, ALIGNMENT)));
  }
  if (data_ == nullptr) {
    throw Error(ErrorKind::Limit, "no memory for " + std::to_string(size) + " bytes");
  }
  if (block_bytes_ != 0) ASAN_UNPOISON_MEMORY_REGION(data_, whole);
  if (block_bytes_ != 0 && !recycled_) choose_pages(data_, whole);
  if (block_bytes_ != 0 && !recycled_) return;  // zero as it is
  std::memset(zeroed ? data_ : data_ + size, 0, zeroed ? whole : ALIGNMENT);
}

Buffer::~Buffer() {
  if (owner_ != nullptr) return;
  if (block_bytes_ == 0) {
    std::free(data_);
  } else {
    ASAN_POISON_MEMORY_REGION(data_, block_bytes_);
    Pool::instance().give_back(data_, block_bytes_, true);
  }
}

void Buffer::shrink(u64 size) {
  size_ = size;
  std::memset(data_ + size, 0, ALIGNMENT);
  const u64 kept = round_up(size + ALIGNMENT, page_bytes());
  if (kept >= block_bytes_) return;
  ASAN_POISON_MEMORY_REGION(data_ + kept, block_bytes_ - kept);
  Pool::instance().give_back(data_ + kept, block_bytes_ - kept, recycled_);
  block_bytes_ = kept;
}

MemoryUse memory_use() { return Pool::instance().use(); }
void limit_memory(u64 kept_bytes) { Pool::instance().limit(kept_bytes); }
void release_memory() { Pool::instance().release(); }

}  // namespace pq
