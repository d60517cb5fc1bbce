// Memory that native code hands to Python: aligned to 64 bytes, with 64 zero bytes after its end.
#pragma once
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "error.hpp"

namespace pq {

class Buffer {
 public:
  static constexpr u64 ALIGNMENT = 64;

  Buffer() = default;
  // `zeroed`: large ones come from the system as pages of zeros, which cost nothing until touched.
  explicit Buffer(u64 size, bool zeroed = false) : size_(size) {
    const u64 whole = size + 2 * ALIGNMENT;
    base_ = whole < size ? nullptr : zeroed ? std::calloc(whole, 1) : std::malloc(whole);
    if (base_ == nullptr) {
      throw Error(ErrorKind::Limit, "no memory for " + std::to_string(size) + " bytes");
    }
    const auto address = reinterpret_cast<unsigned long>(base_);
    data_ = reinterpret_cast<u8*>((address + ALIGNMENT - 1) & ~(ALIGNMENT - 1));
    if (!zeroed) std::memset(data_ + size, 0, ALIGNMENT);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(base_); }

  u8* data() const { return data_; }
  u64 size() const { return size_; }
  explicit operator bool() const { return base_ != nullptr; }

  // At least `size` bytes, contents undefined; exactly that many where there was nothing. Memory
  // that is used again and again grows ahead of what is asked for.
  u8* reserve(u64 size) {
    if (base_ == nullptr) {
      *this = Buffer(size);
    } else if (size_ < size) {
      *this = Buffer();
      *this = Buffer(size + size / 4);
    }
    return data_;
  }
  void zero(u64 size) { std::memset(reserve(size), 0, size); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  void* base_ = nullptr;
  u8* data_ = nullptr;
  u64 size_ = 0;
};

}  // namespace pq
