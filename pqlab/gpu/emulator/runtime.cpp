#include "runtime.hpp"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace pq::emulator {
namespace {

// Thrown by the scheduler once the report says why.
struct Abandoned {};

Launch* current = nullptr;
std::mutex one_at_a_time;

struct Pool {
  std::vector<Stack> stacks;
  std::vector<Fibre> fibres;
  alignas(256) u8 shared[SHARED_BYTES];

  void reserve(u32 count) {
    while (stacks.size() < count) stacks.emplace_back();
    fibres.resize(std::max<std::size_t>(fibres.size(), count));
  }
};

Pool& pool() {
  static auto* pool = new Pool();
  return *pool;
}

std::vector<Kernel>& kernels() {
  static auto* kernels = new std::vector<Kernel>();
  return *kernels;
}

Region last{};  // found: accesses stay in a region for a while

// Sorted by start, disjoint.
std::vector<Region>& regions() {
  static auto* regions = new std::vector<Region>();
  return *regions;
}

const char* name(Meeting meeting) {
  switch (meeting) {
    case Meeting::BARRIER: return "__syncthreads";
    case Meeting::BARRIER_OR: return "__syncthreads_or";
    case Meeting::BARRIER_COUNT: return "__syncthreads_count";
    case Meeting::SYNCWARP: return "__syncwarp";
    case Meeting::BALLOT: return "__ballot_sync";
    case Meeting::SHUFFLE: return "a shuffle";
  }
  return "?";
}

bool is_barrier(Meeting meeting) { return meeting <= Meeting::BARRIER_COUNT; }

bool same(const Site& a, const Site& b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

std::string hex(u32 value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

std::string text_of(const Site& site) {
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash == nullptr ? site.file : slash + 1) + ":" + std::to_string(site.line);
}

}  // namespace

Launch* launch() { return current; }

const u8* shared_arena() { return pool().shared; }

dim3 thread_index() { return {current->fibre().thread, 0, 0}; }
dim3 block_index() { return {current->block_ordinal(), 0, 0}; }
dim3 block_size() { return current->block(); }
dim3 grid_size() { return current->grid(); }

u64 global_timer_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<u64>(time.tv_sec) * 1'000'000'000 + static_cast<u64>(time.tv_nsec);
}

u64 meet(Meeting meeting, u32 mask, u64 value, i32 lane, Site site) {
  return current->meet(meeting, mask, value, lane, site);
}

void* shared_memory(const void* declaration, u64 size, u64 alignment, Site site) {
  return current->shared_memory(declaration, size, alignment, site);
}

void before_atomic(const void* address, u32 size) {
  const void* code = __builtin_return_address(0);
  current->count_operation(code);
  check_atomic(address, size, code);
}

void add_kernel(const Kernel& kernel) { kernels().push_back(kernel); }

void Launch::run() {
  if (grid_.y != 1 || grid_.z != 1 || block_.y != 1 || block_.z != 1) {
    fail("grids and blocks have one dimension here");
  }
  if (block_.x == 0 || block_.x > MAX_THREADS || block_.x % WARP != 0 || grid_.x == 0) {
    fail("a grid of " + std::to_string(grid_.x) + " blocks of " + std::to_string(block_.x) +
         " threads: blocks are multiples of 32, up to 1024");
  }
  num_threads_ = block_.x;
  random_state_ = options_.seed;
  pool().reserve(num_threads_);
  std::vector<u32> order(grid_.x);
  for (u32 i = 0; i < grid_.x; ++i) order[i] = i;
  if (options_.seed == 1) std::reverse(order.begin(), order.end());
  if (options_.seed > 1) {
    for (u32 i = grid_.x; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  for (const u32 block : order) run_block(block);
}

void Launch::run_block(u32 ordinal) {
  block_ordinal_ = ordinal;
  at_barrier_ = done_ = 0;
  shared_.clear();
  shared_end_ = 0;
  std::memset(pool().shared, 0xa5, SHARED_BYTES);  // poison
  block_begins();
  for (u32 i = 0; i < num_threads_; ++i) {
    Fibre& fibre = pool().fibres[i];
    fibre = Fibre{};
    fibre.thread = i;
    fibre.context.prepare(
        pool().stacks[i], [](void* self) { static_cast<Launch*>(self)->run_fibre(); }, this);
    ready_.push_back(i);
  }
  while (done_ != num_threads_) {
    if (ready_.empty()) deadlock();
    running_ = &pool().fibres[pick()];
    Context::change(scheduler_, running_->context);
    running_ = nullptr;
    if (report_.failed != 0) throw Abandoned();
  }
  ++blocks_run_;
  for (u32 warp = 0; warp < num_threads_ / WARP; ++warp) count_interval(warp);
  report_.shared_bytes = std::max(report_.shared_bytes, shared_end_);
}

void Launch::run_fibre() {
  kernel_.call(kernel_.function, arguments_);
  Fibre& fibre = *running_;
  fibre.state = Fibre::State::DONE;
  ++done_;
  if (at_barrier_ != 0) fail("a thread ended while others wait at a barrier: " + describe(fibre));
  const u32 warp = fibre.warp() * WARP;
  for (u32 i = warp; i < warp + WARP; ++i) {
    const Fibre& other = pool().fibres[i];
    if (other.state == Fibre::State::WAITING && (other.mask >> (fibre.thread - warp) & 1) != 0) {
      fail("lane " + std::to_string(fibre.thread - warp) + " ended, though it is in the mask of " +
               describe(other),
           other.site);
    }
  }
  leave();
}

bool Launch::is_local(const u8* address) const {
  const Stack& stack = pool().stacks[running_->thread];
  const auto* place = reinterpret_cast<const char*>(address);
  return place >= stack.bottom() && place < stack.top();
}

void Launch::leave() { Context::change(running_->context, scheduler_); }

u32 Launch::pick() {
  u64 at = 0;
  if (options_.seed == 1) at = ready_.size() - 1;
  if (options_.seed > 1) at = random() % ready_.size();
  const u32 fibre = ready_[at];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(at));
  return fibre;
}

u64 Launch::random() {  // splitmix64
  u64 z = random_state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

void Launch::make_ready(Fibre& fibre, u64 result) {
  fibre.state = Fibre::State::READY;
  fibre.result = result;
  ready_.push_back(fibre.thread);
}

u64 Launch::meet(Meeting meeting, u32 mask, u64 value, i32 lane, Site site) {
  Fibre& fibre = *running_;
  fibre.state = Fibre::State::WAITING;
  fibre.meeting = meeting;
  fibre.mask = is_barrier(meeting) ? 0 : mask;
  fibre.value = value;
  fibre.lane = lane;
  fibre.site = site;
  if (is_barrier(meeting)) {
    if (done_ != 0) fail("a barrier that not every thread reaches: some have ended", site);
    const Fibre* other = nullptr;
    for (u32 i = 0; i < num_threads_ && at_barrier_ != 0 && other == nullptr; ++i) {
      const Fibre& each = pool().fibres[i];
      const bool waits = each.state == Fibre::State::WAITING && is_barrier(each.meeting);
      if (waits && each.thread != fibre.thread) other = &each;
    }
    if (other != nullptr && (other->meeting != meeting || !same(other->site, site))) {
      fail("a divergent barrier: " + describe(fibre) + ", but " + describe(*other), site);
    }
    if (++at_barrier_ == num_threads_) meet_block(meeting);
  } else {
    check_mask(fibre);
    meet_warp(fibre);
  }
  leave();
  return fibre.result;
}

void Launch::check_mask(const Fibre& fibre) {
  const u32 lane = fibre.thread % WARP;
  if ((fibre.mask >> lane & 1) == 0) {
    fail("lane " + std::to_string(lane) + " is not in its own mask: " + describe(fibre),
         fibre.site);
  }
  if (fibre.meeting == Meeting::SHUFFLE && fibre.lane >= 0 && fibre.lane < static_cast<i32>(WARP) &&
      (fibre.mask >> fibre.lane & 1) == 0) {
    fail("a shuffle from lane " + std::to_string(fibre.lane) +
             ", which is not in the mask: " + describe(fibre),
         fibre.site);
  }
}

void Launch::meet_block(Meeting meeting) {
  u64 sum = 0;
  for (u32 i = 0; i < num_threads_; ++i) sum += pool().fibres[i].value;
  for (u32 warp = 0; warp < num_threads_ / WARP; ++warp) count_interval(warp);
  ++report_.meetings;
  at_barrier_ = 0;
  for (u32 i = 0; i < num_threads_; ++i) {
    Fibre& fibre = pool().fibres[i];
    ++fibre.block_epoch;
    ++fibre.warp_epoch;
    make_ready(fibre, meeting == Meeting::BARRIER_OR ? sum != 0 : sum);
  }
}

// Completes the meeting that `last` waits at, if every lane of its mask is there.
void Launch::meet_warp(Fibre& last) {
  Fibre* lanes = &pool().fibres[last.warp() * WARP];
  u32 ballot = 0;
  for (u32 i = 0; i < WARP; ++i) {
    if ((last.mask >> i & 1) == 0) continue;
    const Fibre& other = lanes[i];
    if (other.state == Fibre::State::DONE) {
      fail(
          "lane " + std::to_string(i) + " has ended, though it is in the mask of " + describe(last),
          last.site);
    }
    if (other.state != Fibre::State::WAITING || other.meeting != last.meeting ||
        other.mask != last.mask) {
      return;
    }
    if (!same(other.site, last.site)) {
      fail("lanes of one mask meet at different places: " + describe(last) + ", but " +
               describe(other),
           last.site);
    }
    ballot |= (other.value != 0 ? 1u : 0u) << i;
  }
  const bool orders = last.meeting == Meeting::SYNCWARP && last.mask == ~0u;
  if (last.mask == ~0u) count_interval(last.warp());
  ++report_.meetings;
  const u32 mask = last.mask;
  for (u32 i = 0; i < WARP; ++i) {
    if ((mask >> i & 1) == 0) continue;
    Fibre& fibre = lanes[i];
    u64 result = ballot;
    if (fibre.meeting == Meeting::SHUFFLE) {
      const bool inside = fibre.lane >= 0 && fibre.lane < static_cast<i32>(WARP);
      result = inside ? lanes[fibre.lane].value : fibre.value;
    }
    if (orders) ++fibre.warp_epoch;
    make_ready(fibre, result);
  }
}

// Between two meetings a warp takes as long as its busiest lane.
void Launch::count_interval(u32 warp) {
  u64 sum = 0, most = 0;
  for (u32 i = warp * WARP; i < (warp + 1) * WARP; ++i) {
    u64& operations = pool().fibres[i].operations;
    sum += operations;
    most = std::max(most, operations);
    operations = 0;
  }
  report_.operations += sum;
  report_.lane_slots += most * WARP;
}

void Launch::count_operation(const void* code) {
  if (++running_->operations > options_.spin_limit) {
    fail("a thread spins: " + std::to_string(options_.spin_limit) +
             " memory operations without a meeting",
         {nullptr, 0}, code);
  }
}

void* Launch::shared_memory(const void* declaration, u64 size, u64 alignment, Site site) {
  constexpr u64 RED_ZONE = 64;
  for (const Shared& each : shared_) {
    if (each.declaration == declaration) return pool().shared + each.start;
  }
  const u64 start = (shared_end_ + alignment - 1) / alignment * alignment;
  if (start + size + RED_ZONE > SHARED_BYTES) {
    fail("the block's shared memory is above 48 KiB with " + std::to_string(size) + " bytes more",
         site);
  }
  shared_.push_back({declaration, start, size});
  shared_end_ = start + size + RED_ZONE;
  shared_taken(start, size);
  return pool().shared + start;
}

std::string Launch::describe(const Fibre& fibre) const {
  std::string text = "thread " + std::to_string(fibre.thread);
  if (fibre.state != Fibre::State::WAITING) return text;
  text += " waits at " + std::string(name(fibre.meeting)) + " in " + text_of(fibre.site);
  if (!is_barrier(fibre.meeting)) text += " with mask " + hex(fibre.mask);
  return text;
}

void Launch::deadlock() {
  std::string text = "deadlock:";
  u32 shown = 0;
  for (u32 i = 0; i < num_threads_ && shown < 4; ++i) {
    const Fibre& fibre = pool().fibres[i];
    const bool is_new = i == 0 || fibre.state != pool().fibres[i - 1].state ||
                        fibre.mask != pool().fibres[i - 1].mask ||
                        !same(fibre.site, pool().fibres[i - 1].site);
    if (fibre.state != Fibre::State::WAITING || !is_new) continue;
    text += (shown++ == 0 ? " " : "; ") + describe(fibre);
  }
  fail(text);
}

void Launch::fail(const std::string& text, Site site, const void* code) {
  report_.failed = 1;
  report_.block = block_ordinal_;
  report_.thread = running_ == nullptr ? 0 : running_->thread;
  report_.file = site.file;
  report_.line = site.line;
  Dl_info module;
  if (code != nullptr && dladdr(code, &module) != 0) {
    report_.code =
        static_cast<u64>(static_cast<const u8*>(code) - static_cast<const u8*>(module.dli_fbase));
  }
  std::snprintf(report_.text, sizeof report_.text, "%s", text.c_str());
  if (running_ == nullptr) throw Abandoned();
  leave();
  __builtin_unreachable();  // nobody goes back to a fibre that failed
}

const Region* find_region(const void* address) {
  const auto* byte = static_cast<const u8*>(address);
  const auto& all = regions();
  const auto inside = [byte](const Region& region) {
    return byte >= region.start && byte < region.start + region.size;
  };
  if (inside(last)) return &last;
  auto after = std::upper_bound(all.begin(), all.end(), byte,
                                [](const u8* a, const Region& region) { return a < region.start; });
  if (after == all.begin() || !inside(*--after)) return nullptr;
  last = *after;
  return &last;
}

}  // namespace pq::emulator

// What Python calls, by ctypes.
extern "C" {

using namespace pq::emulator;

__attribute__((visibility("default"))) pq::u32 pq_emulator_kernels(const Kernel** all) {
  *all = kernels().data();
  return static_cast<pq::u32>(kernels().size());
}

__attribute__((visibility("default"))) void pq_emulator_launch(pq::u32 kernel, pq::u32 grid,
                                                               pq::u32 block,
                                                               void* const* arguments,
                                                               const Options* options,
                                                               Report* report) {
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  *report = Report{};
  Launch launch(kernels()[kernel], {grid, 1, 1}, {block, 1, 1}, arguments, *options, *report);
  current = &launch;
  try {
    launch.run();
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    report->failed = 1;
    std::snprintf(report->text, sizeof report->text, "%s", error.what());
  }
  current = nullptr;
}

__attribute__((visibility("default"))) void pq_emulator_register(const pq::u8* start, pq::u64 size,
                                                                 pq::u32 initialised) {
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  Region region{start, size, nullptr};
  region_added(region, initialised != 0);
  auto& all = regions();
  const auto at = std::upper_bound(all.begin(), all.end(), start,
                                   [](const pq::u8* a, const Region& r) { return a < r.start; });
  all.insert(at, region);
}

// The host has written bytes of a region.
__attribute__((visibility("default"))) void pq_emulator_written(const pq::u8* start, pq::u64 size) {
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (const Region* region = find_region(start)) region_written(*region, start, size);
}

__attribute__((visibility("default"))) void pq_emulator_unregister(const pq::u8* start) {
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  auto& all = regions();
  last = Region{};
  for (auto region = all.begin(); region != all.end(); ++region) {
    if (region->start != start) continue;
    region_removed(*region);
    all.erase(region);
    break;
  }
}
}
