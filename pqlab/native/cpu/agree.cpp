// What stands above several leaves is in the levels of each: they must say the same, and it is kept
// once.
#include <algorithm>

#include "read.hpp"

namespace pq {
namespace {

// The row in which a slot of `depth` lies.
u64 row_of(const NestedOutput& nested, u64 depth, u64 slot) {
  for (; depth > 0; --depth) {
    const auto* offsets = reinterpret_cast<const i64*>(nested.offsets[depth - 1].data());
    const i64* end = offsets + nested.slots[depth - 1] + 1;
    slot = static_cast<u64>(std::upper_bound(offsets, end, static_cast<i64>(slot)) - offsets) - 1;
  }
  return slot;
}

// The first byte in which they differ; `size`: none.
u64 first_difference(const Buffer& a, const Buffer& b, u64 size) {
  if (std::memcmp(a.data(), b.data(), size) == 0) return size;
  return static_cast<u64>(std::mismatch(a.data(), a.data() + size, b.data()).first - a.data());
}

i32 row_group_of(const ReadSpec& spec, u64 row) {
  for (const ChunkSpec& chunk : spec.chunks) {
    for (u32 i = 0; i < chunk.num_ranges; ++i) {
      const RowRange& range = spec.ranges[chunk.first_range + i];
      const i64 at = static_cast<i64>(row) - range.out;
      if (at >= 0 && at < range.stop - range.start) return chunk.row_group;
    }
  }
  return -1;
}

[[noreturn]] void throw_difference(const ReadSpec& spec, u64 column, u64 row) {
  const ColumnSpec& here = spec.columns()[column];
  Error error(ErrorKind::Corrupt,
              "the levels of '" + spec.columns()[column - 1].name +
                  "' and of this column differ on the lists and groups above both, first in row " +
                  std::to_string(row) + " of what is read");
  error.leaf = here.leaf;
  error.row_group = row_group_of(spec, row);
  throw error;
}

void compare(const Read& read, u64 column) {
  const ColumnSpec& spec = read.spec.columns()[column];
  const NestedOutput& before = read.columns[column - 1].nested;
  const NestedOutput& here = read.columns[column].nested;
  for (u64 depth = 1; depth <= spec.shared_lists; ++depth) {
    // Those above agree, so there are as many.
    const u64 size = (here.slots[depth - 1] + 1) * sizeof(i64);
    const u64 at = first_difference(before.offsets[depth - 1], here.offsets[depth - 1], size);
    if (at == size) continue;
    const u64 offset = at / sizeof(i64);
    throw_difference(read.spec, column, row_of(before, depth - 1, offset == 0 ? 0 : offset - 1));
  }
  for (u64 group = 0; group < spec.shared_groups; ++group) {
    const u64 depth = spec.nesting.groups[group].depth;
    const Buffer &theirs = before.groups[group].bits, &mine = here.groups[group].bits;
    const u64 size = (here.slots[depth] + 7) / 8;
    const u64 at = first_difference(theirs, mine, size);
    if (at == size) continue;
    const u32 bits = theirs.data()[at] ^ mine.data()[at];
    const u64 slot = 8 * at + static_cast<u64>(__builtin_ctz(bits));
    throw_difference(read.spec, column, row_of(before, depth, slot));
  }
}

}  // namespace

void agree(Read& read) {
  const auto& columns = read.spec.columns();
  const auto shares = [](const ColumnSpec& column) {
    return column.shared_lists != 0 || column.shared_groups != 0;
  };
  for (u64 i = 1; i < columns.size(); ++i) {
    if (shares(columns[i])) compare(read, i);
  }
  for (u64 i = 1; i < columns.size(); ++i) {
    for (u64 list = 0; list < columns[i].shared_lists; ++list) {
      read.columns[i].nested.offsets[list] = Buffer();
    }
    for (u64 group = 0; group < columns[i].shared_groups; ++group) {
      read.columns[i].nested.groups[group].bits = Buffer();
    }
  }
}

}  // namespace pq
