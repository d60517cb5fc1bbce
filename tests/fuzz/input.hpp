// Takes a fuzzer's bytes apart: numbers from the front, then the rest. All else that targets share.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "error.hpp"

namespace pq {

class Input {
 public:
  Input(const u8* data, u64 size) : data_(data), size_(size) {}

  // Little endian; zeros where the bytes end.
  template <class T>
  T take() {
    T value{};
    const u64 count = size_ < sizeof(T) ? size_ : sizeof(T);
    if (count != 0) std::memcpy(&value, data_, count);
    data_ += count, size_ -= count;
    return value;
  }

  const u8* data() const { return data_; }
  u64 size() const { return size_; }

 private:
  const u8* data_;
  u64 size_;
};

// A copy with so many readable bytes behind it, as the code asks for, and none behind these.
inline std::unique_ptr<u8[]> padded(const u8* data, u64 size, u64 beyond) {
  std::unique_ptr<u8[]> copy(new u8[size + beyond]());
  if (size != 0) std::memcpy(copy.get(), data, size);
  return copy;
}

// What must hold of any input.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Runs `use`; what it throws of our own is its outcome, as text.
template <class Use>
std::string outcome(Use use) {
  try {
    return use();
  } catch (const Error& error) {
    return "error: " + error.message + " at " + std::to_string(error.offset);
  }
}

}  // namespace pq
