#include "nested.hpp"

#include <algorithm>

#include "bitmap.hpp"
#include "error.hpp"
#include "loops.hpp"

namespace pq {
namespace {

[[noreturn]] void throw_order(u64 entry, u32 repetition_level) {
  throw Error(ErrorKind::Corrupt, "the repetition level " + std::to_string(repetition_level) +
                                      " at entry " + std::to_string(entry) +
                                      " goes on with a list that has no element there");
}

// Calls use(begins) with a function of an entry's ordinal: 1 where it begins a slot at `depth`.
template <class Use>
void with_begins(const Nesting& nesting, const NestedPage& page, u32 depth, Use&& use) {
  const Level *r = page.r(), *d = page.d();
  const u32 level = nesting.list_levels[depth];
  if (page.repetition) {
    use([=](u64 i) { return static_cast<u32>(r[i] <= depth) & static_cast<u32>(d[i] >= level); });
  } else {
    use([](u64) { return 1u; });
  }
}

// The bits of the slots at `depth`, set where the definition level reaches `level`; gives how many.
u64 bits_of_slots(const Nesting& nesting, const NestedPage& page, u32 depth, u32 level,
                  Buffer& bits) {
  bits = Buffer((page.slots[depth] + 63) / 64 * sizeof(u64));
  u8* to = bits.data();
  const Level* d = page.d();
  u64 set = 0, word = 0;
  u32 used = 0;
  const auto flush = [&] {
    store(to, word);
    to += sizeof(u64);
    set += popcount(word);
    word = 0;
    used = 0;
  };
  with_begins(nesting, page, depth, [&](auto begins) {
    for (u64 i = 0; i < page.count; ++i) {
      const u32 begin = begins(i);
      word |= static_cast<u64>(begin & static_cast<u32>(d[i] >= level)) << used;
      used += begin;
      if (used == 64) flush();
    }
  });
  if (used != 0) flush();
  return set;
}

void put_validity(const Buffer& bits, u64 set, u64 count, u8* out, u64 at,
                  std::atomic<i64>& null_count) {
  if (set == count) {
    merge_ones(count, out, at);
    return;
  }
  merge_bits(bits.data(), 0, count, out, at);
  null_count.fetch_add(static_cast<i64>(count - set), std::memory_order_relaxed);
}

void fill_offsets(const Nesting& nesting, const NestedPage& page, u32 depth, u8* out) {
  const u64 lists = page.slots[depth - 1];
  Buffer scratch((lists + 1) * sizeof(i64));
  auto* offsets = reinterpret_cast<i64*>(scratch.data());
  i64 next = static_cast<i64>(page.first_slots[depth]);
  u64 list = 0;
  with_begins(nesting, page, depth - 1, [&](auto begins_list) {
    with_begins(nesting, page, depth, [&](auto begins) {
      for (u64 i = 0; i < page.count; ++i) {
        offsets[list] = next;
        list += begins_list(i);
        next += begins(i);
      }
    });
  });
  if (lists != 0) {
    std::memcpy(out + page.first_slots[depth - 1] * sizeof(i64), offsets, lists * sizeof(i64));
  }
}

void fill_values(ValueType type, const Buffer& bits, const NestedPage& page, u8* out) {
  const u64 count = page.slots.back(), at = page.first_slots.back();
  if (count == 0) return;
  const bool all = page.num_values == count;
  if (type.kind == Kind::BITS) {
    Buffer spaced;
    if (!all) {
      spaced = Buffer((count + 63) / 64 * sizeof(u64), true);
      loops().scatter(type, bits.data(), count, page.values.data(), spaced.data());
    }
    merge_bits(all ? page.values.data() : spaced.data(), 0, count, out, at);
    return;
  }
  u8* to = out + at * type.stride();
  if (all) {
    std::memcpy(to, page.values.data(), count * type.stride());
  } else {
    loops().scatter(type, bits.data(), count, page.values.data(), to);
  }
}

}  // namespace

void check_order(const Nesting& nesting, const NestedPage& page) {
  if (page.count == 0 || !page.repetition) return;
  const Level *r = page.r(), *d = page.d();
  const u32* needed = nesting.list_levels.data();
  u32 bad = d[0] < needed[r[0]] ? 1 : 0;
  for (u64 i = 1; i < page.count; ++i) {
    const u32 level = needed[r[i]];
    bad |= static_cast<u32>(d[i] < level) | static_cast<u32>(d[i - 1] < level);
  }
  if (bad == 0) return;
  for (u64 i = 0; i < page.count; ++i) {
    const u32 level = needed[r[i]];
    if (d[i] < level || (i != 0 && d[i - 1] < level)) throw_order(i, r[i]);
  }
}

void check_first(const Nesting& nesting, const NestedPage& page, Level last_level) {
  if (!page.begins_within_row()) return;
  if (last_level < nesting.list_levels[page.r()[0]]) throw_order(0, page.r()[0]);
}

void count_slots(const Nesting& nesting, NestedPage& page) {
  const u32 depths = static_cast<u32>(nesting.list_levels.size());
  page.slots.assign(depths, 0);
  for (u32 depth = 0; depth < depths; ++depth) {
    with_begins(nesting, page, depth, [&](auto begins) {
      u64 sum = 0;
      for (u64 i = 0; i < page.count; ++i) sum += begins(i);
      page.slots[depth] = sum;
    });
  }
  const Level* d = page.d();
  const u32 there = nesting.max_definition_level;
  u64 sum = 0;
  for (u64 i = 0; i < page.count; ++i) sum += d[i] == there ? 1 : 0;
  page.num_values = sum;
}

void cut(const Nesting& nesting, ValueType type, const std::vector<RowsInPage>& rows,
         NestedPage& page) {
  const bool bits = type.kind == Kind::BITS;
  const u64 stride = type.stride();
  auto* r = reinterpret_cast<Level*>(page.repetition.data());
  auto* d = reinterpret_cast<Level*>(page.definition.data());
  u8* values = page.values.data();
  Buffer kept_bits;
  if (bits) kept_bits = Buffer((page.num_values + 63) / 64 * sizeof(u64), true);
  u64 entry = 0, value = 0, row = 0;  // the next; `row` is the one that `entry` lies in
  u64 kept = 0, kept_values = 0;
  // Passes over the entries before row `stop`; the values among them are counted.
  const auto pass = [&](u64 stop) {
    for (; entry < page.count; ++entry) {
      const u64 of_entry = row + (entry != 0 && (r == nullptr || r[entry] == 0) ? 1 : 0);
      if (of_entry >= stop) return;
      row = of_entry;
      value += d[entry] == nesting.max_definition_level ? 1 : 0;
    }
  };
  for (const RowsInPage& range : rows) {
    pass(range.start);
    const u64 first_entry = entry, first_value = value;
    pass(range.stop);
    const u64 entries = entry - first_entry, found = value - first_value;
    if (r != nullptr) std::memmove(r + kept, r + first_entry, entries * sizeof(Level));
    std::memmove(d + kept, d + first_entry, entries * sizeof(Level));
    if (bits) {
      merge_bits(values, first_value, found, kept_bits.data(), kept_values);
    } else if (stride != 0) {
      std::memmove(values + kept_values * stride, values + first_value * stride, found * stride);
    }
    kept += entries;
    kept_values += found;
  }
  if (bits) page.values = std::move(kept_bits);
  page.count = kept;
  count_slots(nesting, page);
}

void fill(const Nesting& nesting, ValueType type, const NestedPage& page, NestedOutput& output,
          u8* values, u8* validity, std::atomic<i64>& null_count) {
  const u32 innermost = nesting.max_repetition_level();
  for (u32 depth = 1; depth <= innermost; ++depth) {
    fill_offsets(nesting, page, depth, output.offsets[depth - 1].data());
  }
  Buffer bits;
  for (u64 i = 0; i < nesting.groups.size(); ++i) {
    const OptionalGroup& group = nesting.groups[i];
    const u64 set = bits_of_slots(nesting, page, group.depth, group.level, bits);
    put_validity(bits, set, page.slots[group.depth], output.groups[i].bits.data(),
                 page.first_slots[group.depth], output.groups[i].null_count);
  }
  if (type.kind == Kind::NOTHING) return;
  const u64 count = page.slots[innermost];
  u64 set = count;
  if (page.num_values != count) {
    set = bits_of_slots(nesting, page, innermost, nesting.max_definition_level, bits);
  }
  if (validity != nullptr) {
    put_validity(bits, set, count, validity, page.first_slots[innermost], null_count);
  }
  fill_values(type, bits, page, values);
}

}  // namespace pq
