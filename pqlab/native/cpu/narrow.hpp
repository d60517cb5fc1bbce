// Columns of integers stored at the narrowest width that holds them: nothing while all values are
// equal, then u8, u16, u32, u64, or i8 to i64 once a value is negative.
#pragma once
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "config.cuh"

namespace pq {

struct FreeDeleter {
  void operator()(void* pointer) const { std::free(pointer); }
};
using Buffer = std::unique_ptr<u8, FreeDeleter>;

inline Buffer allocate(u64 bytes) {
  Buffer buffer(static_cast<u8*>(std::malloc(bytes ? bytes : 1)));
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

struct NarrowColumn {
  u64 capacity;   // rows that will come; memory for them is taken when a value differs
  u64 size = 0;   // rows so far
  i64 first = 0;  // the value of all rows while `width` is 0
  int width = 0;  // bytes per value; 0: all rows are equal
  bool is_signed = false;
  Buffer data;

  explicit NarrowColumn(u64 rows = 0) : capacity(rows) {}

  // Append `count` values; the caller keeps within `capacity`.
  void append(const i64* values, u64 count);

 private:
  void widen(int new_width, bool new_signed);
};

// Rows of N integers, gathered in blocks and appended to N narrow columns.
template <int N>
class NarrowTable {
 public:
  static constexpr int BLOCK = 512;

  explicit NarrowTable(u64 rows) { resize(rows); }

  // To be called before the first row: how many will come.
  void resize(u64 rows) {
    for (NarrowColumn& column : columns_) column.capacity = rows;
  }

  i64& cell(int column) { return block_[column][filled_]; }

  // Begin a row: all cells 0.
  void clear_row() {
    for (int c = 0; c < N; ++c) block_[c][filled_] = 0;
  }

  void next_row() {
    if (++filled_ == BLOCK) flush();
  }

  // To be called once after the last row.
  void flush() {
    for (int c = 0; c < N; ++c) columns_[c].append(block_[c], filled_);
    filled_ = 0;
  }

  NarrowColumn& column(int c) { return columns_[c]; }

 private:
  std::array<NarrowColumn, N> columns_;
  alignas(64) i64 block_[N][BLOCK];
  int filled_ = 0;
};

}  // namespace pq
