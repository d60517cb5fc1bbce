// Check mode: kernels are compiled with -fsanitize=thread, and its hooks are these. Each access is
// checked for bounds, alignment, memory never written, and races by CUDA's rules: a block barrier
// orders the threads of a block, a full __syncwarp those of a warp, the end of a launch everything;
// shuffles and ballots order nothing, and nothing orders two blocks of a launch.
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "runtime.hpp"

namespace pq::emulator {
namespace {

constexpr u32 HOST = 1;  // the run of what is written before any launch

// Who touched a byte, and when. Blocks are numbered over all launches: a run.
struct Access {
  u32 run = 0;  // 0: nobody
  u32 block_epoch = 0;
  u32 warp_epoch = 0;
  u32 thread = 0;  // with ATOMIC
};
constexpr u32 ATOMIC = 1u << 31;

// Of one byte. Two readers are kept, of different threads where there are such: whoever writes next
// is another thread than one of them.
struct Cell {
  Access writer;
  Access readers[2];
};

struct Taken {
  u64 start;
  u64 size;
};

u32 run = HOST;            // of the block that runs
u32 first_run = HOST;      // of this launch
std::vector<Taken> taken;  // of the shared memory
u64 module_start = 0, module_stop = 0;

Cell* shared_cells() {
  static auto* cells = new Cell[SHARED_BYTES];
  return cells;
}

// `shared`: memory that each block finds new.
bool ordered(const Access& before, const Access& now, bool shared) {
  if (before.run < first_run || (shared && before.run != now.run)) return true;
  if (before.run != now.run) return false;
  const u32 a = before.thread & ~ATOMIC, b = now.thread & ~ATOMIC;
  if (a == b || before.block_epoch != now.block_epoch) return true;
  return a / WARP == b / WARP && before.warp_epoch != now.warp_epoch;
}

std::string text_of(const Access& access) {
  std::string text = "thread " + std::to_string(access.thread & ~ATOMIC) + " of block ";
  const bool same_block = access.run == run;
  text += same_block ? std::to_string(launch()->block_ordinal()) : "(another)";
  return text;
}

std::string place_of(const u8* address) {
  const u8* arena = shared_arena();
  if (address >= arena && address < arena + SHARED_BYTES) {
    return "shared memory, byte " + std::to_string(address - arena);
  }
  const Region* region = find_region(address);
  if (region == nullptr) return "memory of no buffer";
  return "byte " + std::to_string(address - region->start) + " of a buffer of " +
         std::to_string(region->size);
}

[[noreturn]] void outside(const u8* address, u32 size, const void* code) {
  std::string text = "out of bounds: " + std::to_string(size) + " bytes at ";
  const Region* region = find_region(address);
  if (region == nullptr) region = find_region(address - 1);
  const u8* arena = shared_arena();
  if (address >= arena && address < arena + SHARED_BYTES) {
    text += place_of(address) + ", which no declaration took";
  } else if (region != nullptr) {
    text += "byte " + std::to_string(address - region->start) + " of a buffer of " +
            std::to_string(region->size);
  } else {
    text += "an address in no buffer";
  }
  launch()->fail(text, {nullptr, 0}, code);
}

// The cells of [address, address + size); nullptr: memory that is not watched.
Cell* cells_of(const u8* address, u32 size, bool writes, const void* code) {
  const u8* arena = shared_arena();
  if (address >= arena && address < arena + SHARED_BYTES) {
    const u64 start = static_cast<u64>(address - arena);
    for (const Taken& each : taken) {
      if (start >= each.start && start + size <= each.start + each.size) {
        return shared_cells() + start;
      }
    }
    outside(address, size, code);
  }
  if (const Region* region = find_region(address)) {
    if (address + size > region->start + region->size) outside(address, size, code);
    return reinterpret_cast<Cell*>(region->shadow) + (address - region->start);
  }
  if (launch()->is_local(address)) return nullptr;
  const auto number = reinterpret_cast<unsigned long>(address);
  if (!writes && number >= module_start && number < module_stop) return nullptr;  // constants
  outside(address, size, code);
}

[[noreturn]] void race(const char* before, const Access& other, const char* after, const u8* byte,
                       const void* code) {
  launch()->fail("a race: " + text_of(other) + " " + before + " " + place_of(byte) +
                     ", which this thread " + after + "; nothing orders the two",
                 {nullptr, 0}, code);
}

void touch(const void* address, u32 size, bool writes, bool atomic, bool aligned,
           const void* code) {
  if (launch() == nullptr) return;
  const Fibre& fibre = launch()->fibre();
  const auto* byte = static_cast<const u8*>(address);
  Cell* cell = cells_of(byte, size, writes, code);
  if (cell == nullptr) return;
  if (!atomic) launch()->count_operation(code);
  if (!aligned || reinterpret_cast<unsigned long>(address) % size != 0) {
    launch()->fail("a misaligned access of " + std::to_string(size) + " bytes at " + place_of(byte),
                   {nullptr, 0}, code);
  }
  const Access now{run, fibre.block_epoch, fibre.warp_epoch, fibre.thread | (atomic ? ATOMIC : 0)};
  const bool shared = cell >= shared_cells() && cell < shared_cells() + SHARED_BYTES;
  for (u32 i = 0; i < size; ++i, ++cell, ++byte) {
    const Access& writer = cell->writer;
    const bool both_atomic = atomic && (writer.thread & ATOMIC) != 0;
    if (!both_atomic && !ordered(writer, now, shared)) {
      race("wrote", writer, writes ? "writes" : "reads", byte, code);
    }
    if (!writes || atomic) {
      if (writer.run == 0 || (shared && writer.run != run)) {
        launch()->fail("reads what was never written: " + place_of(byte), {nullptr, 0}, code);
      }
    }
    if (writes) {
      for (const Access& reader : cell->readers) {
        const bool atomics = atomic && (reader.thread & ATOMIC) != 0;
        if (!atomics && !ordered(reader, now, shared)) race("read", reader, "writes", byte, code);
      }
      cell->writer = now;
    } else if (ordered(cell->readers[0], now, shared)) {
      cell->readers[0] = now;
    } else {
      cell->readers[1] = now;
    }
  }
}

// Where the library's own bytes lie: tables of constants are read there.
void find_module() {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        const auto self = reinterpret_cast<unsigned long>(&find_module);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const unsigned long start = info->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || self < start || self >= start + part.p_memsz) continue;
          module_start = ~0ul;
          for (int j = 0; j < info->dlpi_phnum; ++j) {
            const auto& each = info->dlpi_phdr[j];
            if (each.p_type != PT_LOAD) continue;
            module_start = std::min<u64>(module_start, info->dlpi_addr + each.p_vaddr);
            module_stop = std::max<u64>(module_stop, info->dlpi_addr + each.p_vaddr + each.p_memsz);
          }
          return 1;
        }
        return 0;
      },
      nullptr);
}

}  // namespace

void region_added(Region& region, bool initialised) {
  const u64 size = region.size * sizeof(Cell);
  void* mapped = mmap(nullptr, size == 0 ? 1 : size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  region.shadow = static_cast<u8*>(mapped);
  if (!initialised) return;
  auto* cells = reinterpret_cast<Cell*>(region.shadow);
  for (u64 i = 0; i < region.size; ++i) cells[i].writer.run = HOST;
}

void region_removed(Region& region) {
  munmap(region.shadow, region.size == 0 ? 1 : region.size * sizeof(Cell));
}

void region_written(const Region& region, const u8* start, u64 size) {
  auto* cells = reinterpret_cast<Cell*>(region.shadow) + (start - region.start);
  size = std::min(size, static_cast<u64>(region.start + region.size - start));
  for (u64 i = 0; i < size; ++i) cells[i].writer = {HOST, 0, 0, 0};
}

void block_begins() {
  if (module_stop == 0) find_module();
  ++run;
  if (launch()->blocks_run() == 0) first_run = run;
  taken.clear();
}

void shared_taken(u64 start, u64 size) { taken.push_back({start, size}); }

void check_atomic(const void* address, u32 size, const void* code) {
  touch(address, size, true, true, true, code);
}

}  // namespace pq::emulator

#define PQ_HOOK(name, size, writes, aligned)                                                 \
  extern "C" void __tsan_##name(void* address) {                                             \
    pq::emulator::touch(address, size, writes, false, aligned, __builtin_return_address(0)); \
  }
PQ_HOOK(read1, 1, false, true)
PQ_HOOK(read2, 2, false, true)
PQ_HOOK(read4, 4, false, true)
PQ_HOOK(read8, 8, false, true)
PQ_HOOK(read16, 16, false, true)
PQ_HOOK(write1, 1, true, true)
PQ_HOOK(write2, 2, true, true)
PQ_HOOK(write4, 4, true, true)
PQ_HOOK(write8, 8, true, true)
PQ_HOOK(write16, 16, true, true)
PQ_HOOK(unaligned_read2, 2, false, false)
PQ_HOOK(unaligned_read4, 4, false, false)
PQ_HOOK(unaligned_read8, 8, false, false)
PQ_HOOK(unaligned_read16, 16, false, false)
PQ_HOOK(unaligned_write2, 2, true, false)
PQ_HOOK(unaligned_write4, 4, true, false)
PQ_HOOK(unaligned_write8, 8, true, false)
PQ_HOOK(unaligned_write16, 16, true, false)
#undef PQ_HOOK

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
// Structs that are copied whole: byte by byte here.
void __tsan_read_range(void* address, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) {
    pq::emulator::touch(static_cast<char*>(address) + i, 1, false, false, true,
                        __builtin_return_address(0));
  }
}
void __tsan_write_range(void* address, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) {
    pq::emulator::touch(static_cast<char*>(address) + i, 1, true, false, true,
                        __builtin_return_address(0));
  }
}
}
