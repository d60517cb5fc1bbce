// What runs a kernel: one block after the other, a fibre a thread, meeting points in between.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "cuda.hpp"
#include "fibre.hpp"

namespace pq::emulator {

constexpr u32 WARP = 32;
constexpr u32 MAX_THREADS = 1024;
constexpr u64 SHARED_BYTES = 48 << 10;  // of a block, without asking for more

// How a launch runs. Order of the fibres and of the blocks by seed: 0 first come first served,
// 1 last come first served, else at random.
struct Options {
  u64 seed;
  u64 spin_limit;  // memory operations of a thread between two meetings
};

// What a launch was like. `failed`: it broke off, and the rest says why and where.
struct Report {
  u32 failed;
  u32 block;
  u32 thread;
  i32 line;  // of a meeting; 0: of `code`
  const char* file;
  u64 code;          // of the instruction, from where the library begins, for addr2line
  u64 meetings;      // of warps and blocks
  u64 operations;    // memory operations of all threads; counted in check mode
  u64 lane_slots;    // 32 times those of the busiest lane, warp by warp, meeting by meeting
  u64 shared_bytes;  // of the block that took the most
  char text[1024];
};

struct Fibre {
  enum class State : u8 { READY, WAITING, DONE };

  Context context;
  State state;
  Meeting meeting;
  u32 mask;
  u64 value;
  i32 lane;
  Site site;
  u64 result;
  u32 thread;       // within the block
  u32 block_epoch;  // block barriers passed
  u32 warp_epoch;   // those and full __syncwarps passed
  u64 operations;   // since the last meeting
  u32 warp() const { return thread / WARP; }
};

// One launch; there is one at a time.
class Launch {
 public:
  Launch(const Kernel& kernel, dim3 grid, dim3 block, void* const* arguments,
         const Options& options, Report& report)
      : kernel_(kernel),
        grid_(grid),
        block_(block),
        arguments_(arguments),
        options_(options),
        report_(report) {}

  void run();

  u32 blocks_run() const { return blocks_run_; }
  // Whether an address lies on the running fibre's own stack.
  bool is_local(const u8* address) const;
  dim3 grid() const { return grid_; }
  dim3 block() const { return block_; }
  u32 block_ordinal() const { return block_ordinal_; }
  Fibre& fibre() const { return *running_; }

  u64 meet(Meeting meeting, u32 mask, u64 value, i32 lane, Site site);
  void* shared_memory(const void* declaration, u64 size, u64 alignment, Site site);
  void count_operation(const void* code);

  // Breaks the launch off, from within a fibre or the scheduler.
  [[noreturn]] void fail(const std::string& text, Site site = {nullptr, 0},
                         const void* code = nullptr);

 private:
  struct Shared {
    const void* declaration;
    u64 start;
    u64 size;
  };

  void run_block(u32 ordinal);
  void run_fibre();  // the body of every fibre
  void leave();
  u32 pick();
  void make_ready(Fibre& fibre, u64 result);
  void meet_block(Meeting meeting);
  void meet_warp(Fibre& last);
  void check_mask(const Fibre& fibre);
  void count_interval(u32 warp);
  [[noreturn]] void deadlock();
  u64 random();
  std::string describe(const Fibre& fibre) const;

  const Kernel& kernel_;
  const dim3 grid_, block_;
  void* const* arguments_;
  const Options options_;
  Report& report_;
  Context scheduler_;
  Fibre* running_ = nullptr;
  u32 block_ordinal_ = 0;
  u32 blocks_run_ = 0;
  u32 num_threads_ = 0;
  u32 at_barrier_ = 0;
  u32 done_ = 0;
  std::deque<u32> ready_;
  std::vector<Shared> shared_;
  u64 shared_end_ = 0;
  u64 random_state_ = 0;
};

Launch* launch();

// Memory that kernels may touch. Poison and red zones are the caller's; what is registered is
// checked to the byte in check mode.
struct Region {
  const u8* start;
  u64 size;
  u8* shadow;  // check mode's
};

// Hooks of check mode; without it they do nothing.
void region_added(Region& region, bool initialised);
void region_removed(Region& region);
void region_written(const Region& region, const u8* start, u64 size);
void block_begins();
void check_atomic(const void* address, u32 size, const void* code);
void shared_taken(u64 start, u64 size);
const Region* find_region(const void* address);
const u8* shared_arena();

}  // namespace pq::emulator
