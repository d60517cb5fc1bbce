// Memory that native code hands to Python: aligned to 64 bytes, with 64 zero bytes after its end.
// Large buffers come from a pool and go back to it when their owner dies, on whatever thread.
#pragma once
#include <cstring>
#include <memory>
#include <utility>

#include "error.hpp"

namespace pq {

class Buffer {
 public:
  static constexpr u64 ALIGNMENT = 64;

  Buffer() = default;
  // Throws Error (Limit) where there is no memory.
  explicit Buffer(u64 size, bool zeroed = false);
  // Memory of somebody else's, which `owner` keeps; 64 bytes after its end are readable, too.
  Buffer(u8* data, u64 size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  u8* data() const { return data_; }
  u64 size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }
  // Whether its pages were written to before. The first write to each of the others is a page
  // fault, after which the page lies in the cache as the system zeroed it.
  bool recycled() const { return recycled_; }

  // At least `size` bytes, contents undefined; exactly that many where there was nothing. Memory
  // that is used again and again grows ahead of what is asked for.
  u8* reserve(u64 size) {
    if (data_ == nullptr) {
      *this = Buffer(size);
    } else if (size_ < size) {
      *this = Buffer();
      *this = Buffer(size + size / 4);
    }
    return data_;
  }
  // Fewer bytes: what was never used goes back.
  void shrink(u64 size);
  void zero(u64 size) { std::memset(reserve(size), 0, size); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(block_bytes_, other.block_bytes_);
    std::swap(recycled_, other.recycled_);
    owner_.swap(other.owner_);
  }

  u8* data_ = nullptr;
  u64 size_ = 0;
  u64 block_bytes_ = 0;  // of the pool; 0: from malloc
  bool recycled_ = false;
  std::shared_ptr<const void> owner_;  // of memory that is not ours
};

// What the pool holds. Buffers too small for it are not counted.
struct MemoryUse {
  u64 in_use_bytes;      // by buffers that live
  u64 kept_bytes;        // for buffers to come: no page faults
  u64 high_water_bytes;  // most in use at any time
  u64 limit_bytes;       // of kept_bytes
  u64 allocations;       // buffers that were taken so far
  u64 reuses;            // those of them that took kept bytes
};
MemoryUse memory_use();
void limit_memory(u64 kept_bytes);  // what is kept above it goes back to the system at once
void release_memory();              // all that is kept

}  // namespace pq
