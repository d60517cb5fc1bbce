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
using OwnedBytes = std::unique_ptr<u8, FreeDeleter>;

// Large blocks lie on huge pages where the system has them: touching them is half of the work.
OwnedBytes allocate_bytes(u64 size);

struct NarrowColumn {
  u64 capacity;   // rows that will come; memory for them is taken when a value differs
  u64 size = 0;   // rows so far
  i64 first = 0;  // the value of all rows while `width` is 0
  int width = 0;  // bytes per value; 0: all rows are equal
  bool is_signed = false;
  OwnedBytes data;

  explicit NarrowColumn(u64 rows = 0) : capacity(rows) {}

  // Append `count` values; the caller keeps within `capacity`.
  void append(const i64* values, u64 count);

  // All values so far.
  void copy_to(i64* out) const;

 private:
  void widen(int new_width, bool new_signed);
};

// Rows of N integers, gathered in blocks and appended to N narrow columns.
template <int N>
class NarrowTable {
 public:
  static constexpr int BLOCK = 256;  // rows, so that a block stays in the first-level cache
  // From a row's cell to the next. Padded: cells a power of two apart would share their cache sets.
  static constexpr int STRIDE = BLOCK + 8;
  static constexpr int NOWHERE = N;  // a column that takes what nobody wants
  static_assert(N < 32, "columns are bits");

  explicit NarrowTable(u64 rows) { resize(rows); }

  // To be called before the first row: how many will come.
  void resize(u64 rows) {
    for (NarrowColumn& column : columns_) column.capacity = rows;
  }

  // Forget all rows, to be filled anew; not after an exception between two rows.
  void reset() {
    for (NarrowColumn& column : columns_) column = NarrowColumn();
  }

  // A cell of the current row; 0 until it is set.
  i64& cell(int column) {
    touched_ |= 1u << column;
    return block_[column][filled_];
  }

  // The row's first cell, the others STRIDE apart, to write to these columns (as bits).
  i64* row(u32 columns) {
    touched_ |= columns;
    return &block_[0][filled_];
  }

  // Sets the row's cells back to 0.
  void clear_row() {
    for (int c = 0; c < N; ++c) block_[c][filled_] = 0;
  }

  void next_row() {
    if (++filled_ == BLOCK) flush();
  }

  // To be called once after the last row.
  void flush() {
    const u64 count = static_cast<u64>(filled_);
    for (int c = 0; c < N; ++c) {
      NarrowColumn& column = columns_[c];
      if ((touched_ >> c & 1) == 0 && column.width == 0 && column.first == 0) {
        column.size += count;  // all 0, as before
        continue;
      }
      column.append(block_[c], count);
      std::memset(block_[c], 0, count * sizeof(i64));
    }
    filled_ = 0;
    touched_ = 0;
  }

  NarrowColumn& column(int c) { return columns_[c]; }

 private:
  std::array<NarrowColumn, N> columns_;
  alignas(64) i64 block_[N + 1][STRIDE] = {};
  int filled_ = 0;
  u32 touched_ = 0;
};

}  // namespace pq
