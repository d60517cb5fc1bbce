// Reads a column chunk out of a fuzzer's bytes, by the loops of each instruction set: they must
// agree on the values, or on the error, and the values are all looked at.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "input.hpp"
#include "loops.hpp"
#include "read.hpp"

namespace pq {

// A column of some kind, flat or below lists and groups.
struct Fuzzed {
  ColumnSpec column;
  i32 codec = 0;
  i64 num_rows = 0;
  i64 num_values = 0;
  bool prefixes_reach_back = false;
  bool is_compressed_is_wrong = false;
  bool verify_checksums = false;
  bool for_polars = false;
  bool some_rows = false;
};

constexpr u32 NUM_KINDS = static_cast<u32>(Kind::NOTHING) + 1;
constexpr u32 NUM_SHAPES = 6;

inline u32 width_of(Kind kind, u32 wanted) {
  switch (kind) {
    case Kind::BITS:
    case Kind::DECIMAL_BYTES:
    case Kind::BYTES:
    case Kind::TEXT:
    case Kind::CODES: return 0;
    case Kind::COPY:
    case Kind::FLOATING:
    case Kind::NOTHING: return wanted % 2 != 0 ? 8 : 4;
    case Kind::FIXED: return wanted % 2 != 0 ? 12 : 2;
    case Kind::INT8:
    case Kind::UINT8:
    case Kind::INT16:
    case Kind::UINT16:
    case Kind::TIME_MS:
    case Kind::DECIMAL_INT32: return 4;
    case Kind::TIME_US:
    case Kind::TIME_NS:
    case Kind::DECIMAL_INT64: return 8;
    case Kind::INT96_NS:
    case Kind::INT96_US: return 12;
    case Kind::DECIMAL_FIXED:
    case Kind::FIXED_BYTES: return 1 + wanted % 40;
  }
  return 0;
}

// REQUIRED, OPTIONAL; OPTIONAL below an optional group; lists of OPTIONAL, once and twice;
// REPEATED.
inline Nesting shape_of(u32 shape) {
  Nesting nesting;
  nesting.leaf_is_optional = shape != 0 && shape != 5;
  switch (shape) {
    case 0: break;
    case 1: nesting.max_definition_level = 1; break;
    case 2:
      nesting.nested = true;
      nesting.groups = {{0, 1}};
      nesting.max_definition_level = 2;
      break;
    case 3:
      nesting.nested = true;
      nesting.list_levels = {0, 2};
      nesting.groups = {{0, 1}};
      nesting.max_definition_level = 3;
      break;
    case 4:
      nesting.nested = true;
      nesting.list_levels = {0, 2, 4};
      nesting.groups = {{0, 1}, {1, 3}};
      nesting.max_definition_level = 5;
      break;
    default:
      nesting.nested = true;
      nesting.list_levels = {0, 1};
      nesting.max_definition_level = 1;
  }
  return nesting;
}

// 9 bytes: kind, width, shape, codec, flags, rows (2), values (2).
inline Fuzzed take_column(Input& in) {
  Fuzzed fuzzed;
  const auto kind = static_cast<Kind>(in.take<u8>() % NUM_KINDS);
  fuzzed.column.leaf = 0;
  fuzzed.column.type = {kind, width_of(kind, in.take<u8>())};
  fuzzed.column.nesting = shape_of(in.take<u8>() % NUM_SHAPES);
  fuzzed.column.max_definition_level = fuzzed.column.nesting.max_definition_level;
  fuzzed.column.shared_lists = fuzzed.column.shared_groups = 0;
  fuzzed.column.name = "c";
  fuzzed.codec = in.take<u8>() % 9;
  const u8 flags = in.take<u8>();
  fuzzed.prefixes_reach_back = flags & 1;
  fuzzed.is_compressed_is_wrong = flags & 2;
  fuzzed.verify_checksums = flags & 4;
  fuzzed.for_polars = flags & 8;
  fuzzed.some_rows = flags & 16;
  if (fuzzed.for_polars && kind == Kind::COPY) fuzzed.column.calendar = {-1000, 1000, "DATE"};
  fuzzed.num_rows = in.take<u16>();
  fuzzed.num_values = in.take<u16>();
  return fuzzed;
}

inline ReadSpec spec_of(const Fuzzed& fuzzed, const std::shared_ptr<u8[]>& bytes, u64 size) {
  auto set = std::make_shared<ColumnSet>();
  set->leaves.push_back(fuzzed.column);
  ReadSpec spec;
  spec.column_set = set;
  spec.ranges = {{0, fuzzed.num_rows, 0}};
  spec.num_rows = fuzzed.num_rows;
  if (fuzzed.some_rows) {
    const i64 a = fuzzed.num_rows / 3, b = fuzzed.num_rows / 2, c = fuzzed.num_rows;
    spec.ranges = {{a, b, 0}, {c - (c - b) / 2, c, b - a}};
    spec.num_rows = b - a + (c - b) / 2;
  }
  const u32 ranges = static_cast<u32>(spec.ranges.size());
  spec.chunks = {{0, 0, fuzzed.codec, fuzzed.num_rows, fuzzed.num_values, false, 0, 1, 0, ranges}};
  spec.runs = {{nullptr, size, 0, 0, 0, -1, 0}};
  spec.fetch.pieces.push_back({0, static_cast<i64>(size), bytes.get(), bytes});
  spec.verify_checksums = fuzzed.verify_checksums;
  spec.prefixes_reach_back = fuzzed.prefixes_reach_back;
  spec.is_compressed_is_wrong = fuzzed.is_compressed_is_wrong;
  spec.for_polars = fuzzed.for_polars;
  spec.max_page_bytes = 1 << 20;
  spec.max_read_bytes = 1 << 24;
  return spec;
}

// The leaf's values that are not null, as text; views by what they point to.
inline std::string values_of(const Decoded& decoded) {
  const DecodedLeaf& leaf = *decoded.leaves.front();
  const u64 count = leaf.slots.empty() ? static_cast<u64>(decoded.num_rows) : leaf.slots.back();
  std::string out = std::to_string(count) + " values, " + std::to_string(leaf.null_count);
  const auto append = [&out](const Buffer& buffer, u64 size) {
    require(size <= buffer.size(), "a buffer that is too small");
    out.append(reinterpret_cast<const char*>(buffer.data()), size);
  };
  for (u64 depth = 1; depth < leaf.slots.size(); ++depth) {
    append(leaf.offsets[depth - 1], (leaf.slots[depth - 1] + 1) * sizeof(i64));
  }
  for (const DecodedGroup& group : leaf.groups) {
    if (group.bits) append(group.bits, group.bits.size());
  }
  const u32 stride = leaf.type.stride();
  for (u64 i = 0; i < count; ++i) {
    if (leaf.validity && (leaf.validity.data()[i / 8] >> (i & 7) & 1) == 0) {
      out += "null";
    } else if (leaf.type.kind == Kind::BITS) {
      out += std::to_string(leaf.values.data()[i / 8] >> (i & 7) & 1);
    } else if (leaf.type.views()) {
      View view;
      std::memcpy(&view, leaf.values.data() + i * sizeof(View), sizeof view);
      u32 words[4];
      std::memcpy(words, &view, sizeof words);
      if (words[0] <= 12) {
        out.append(reinterpret_cast<const char*>(&words[1]), words[0]);
      } else {
        require(words[2] < leaf.view_buffers.size(), "a view of no buffer");
        const ViewBuffer& buffer = leaf.view_buffers[words[2]];
        const u8* data = buffer.data != nullptr ? buffer.data : buffer.owned.data();
        const u64 size = buffer.data != nullptr ? buffer.size : buffer.owned.size();
        require(u64{words[3]} + words[0] <= size, "a view beyond its buffer");
        out.append(reinterpret_cast<const char*>(data + words[3]), words[0]);
      }
    } else if (leaf.type.kind != Kind::NOTHING) {
      out.append(reinterpret_cast<const char*>(leaf.values.data() + i * stride), stride);
    }
  }
  return out;
}

inline std::string read_by(const char* instruction_set, const Fuzzed& fuzzed, const u8* data,
                           u64 size) {
  choose_loops(instruction_set);
  return outcome([&] {
    const std::shared_ptr<u8[]> bytes = padded(data, size, 16);
    ReadWork work(spec_of(fuzzed, bytes, size));
    Phase phase;
    while (work.next(phase)) {
      for (u64 task = 0; task < phase.count; ++task) phase.run(task, 0);
    }
    return values_of(take_decoded(work.read(), work.spec().num_rows));
  });
}

inline void read_in_all_forms(const Fuzzed& fuzzed, const u8* data, u64 size) {
  const std::string expected = read_by("portable", fuzzed, data, size);
  for (const char* form : {"serial", "avx2", "avx512"}) {
    if (loops_of(form) == nullptr) continue;
    const std::string got = read_by(form, fuzzed, data, size);
    require(got == expected, std::string("by the loops for ") + form + ": " + got.substr(0, 300) +
                                 "\nby the portable ones: " + expected.substr(0, 300));
  }
}

}  // namespace pq
