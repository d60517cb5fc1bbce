#include "nested.hpp"

#include <algorithm>

#include "bitmap.hpp"
#include "error.hpp"
#include "loops.hpp"

namespace pq {

Error order_error(u64 entry, u32 repetition_level) {
  return Error(ErrorKind::Corrupt, "the repetition level " + std::to_string(repetition_level) +
                                       " at entry " + std::to_string(entry) +
                                       " goes on with a list that has no element there");
}

namespace {

u64* words_of(const Buffer& plane) { return reinterpret_cast<u64*>(plane.data()); }

u64* make(Buffer& plane, u64 words) {
  plane = Buffer(words * sizeof(u64));
  return words_of(plane);
}

}  // namespace

Planes::Planes(const Nesting& nesting, const NestedPage& page)
    : nesting_(&nesting),
      page_(&page),
      words_((page.count + 63) / 64),
      reaching_(nesting.max_definition_level + 1),
      repeating_(nesting.list_levels.size() + 1),
      beginning_(nesting.list_levels.size()) {}

const u64* Planes::reaching(u32 level) { return at_least(page_->d(), level, reaching_[level]); }

const u64* Planes::repeating(u32 level) { return at_least(page_->r(), level, repeating_[level]); }

const u64* Planes::beginning(u32 depth) {
  const u64* reached = reaching(nesting_->list_levels[depth]);
  if (depth == nesting_->max_repetition_level()) return reached;
  Buffer& plane = beginning_[depth];
  if (plane) return words_of(plane);
  const u64* later = repeating(depth + 1);
  u64* begins = make(plane, words_);
  for (u64 i = 0; i < words_; ++i) begins[i] = reached[i] & ~later[i];
  return begins;
}

const u64* Planes::at_least(const Level* levels, u32 level, Buffer& plane) const {
  if (plane) return words_of(plane);
  u64* bits = make(plane, words_);
  if (level > 0) {
    loops().reaching(levels, page_->count, level, bits);
  } else if (words_ != 0) {
    std::memset(bits, 0xff, words_ * sizeof(u64));
    bits[words_ - 1] = low_bits(static_cast<u32>(page_->count - (words_ - 1) * 64));
  }
  return bits;
}

namespace {

bool in_order(const Nesting& nesting, Planes& planes) {
  u64 bad = 0;
  const u32 max_repetition_level = nesting.max_repetition_level();
  for (u32 depth = 1; depth <= max_repetition_level; ++depth) {
    const u64* repeats = planes.repeating(depth);
    const u64* deeper = depth < max_repetition_level ? planes.repeating(depth + 1) : nullptr;
    const u64* has_element = planes.reaching(nesting.list_levels[depth]);
    u64 before = 1;  // what stands before the page is not looked at
    for (u64 i = 0; i < planes.words(); ++i) {
      const u64 goes_on = repeats[i] & ~(deeper != nullptr ? deeper[i] : 0);
      bad |= goes_on & ~(has_element[i] & (has_element[i] << 1 | before));
      before = has_element[i] >> 63;
    }
  }
  return bad == 0;
}

[[noreturn]] void throw_first_out_of_order(const Nesting& nesting, const NestedPage& page) {
  const Level *r = page.r(), *d = page.d();
  u64 i = 0;
  for (; i + 1 < page.count; ++i) {
    const u32 level = nesting.list_levels[r[i]];
    if (d[i] < level || (i != 0 && d[i - 1] < level)) break;
  }
  throw order_error(i, r[i]);
}

// The bits of the slots at `depth`, set where the definition level reaches `level`; gives how many.
u64 bits_of_slots(Planes& planes, const NestedPage& page, u32 depth, u32 level, Buffer& bits) {
  bits = Buffer((page.slots[depth] + 63) / 64 * sizeof(u64));
  return loops().gather_slots(planes.beginning(depth), planes.reaching(level), planes.words(),
                              reinterpret_cast<u64*>(bits.data()));
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

void fill_offsets(Planes& planes, const NestedPage& page, u32 depth, u8* out) {
  loops().list_offsets(planes.beginning(depth - 1), planes.beginning(depth), planes.words(),
                       static_cast<i64>(page.first_slots[depth]),
                       reinterpret_cast<i64*>(out) + page.first_slots[depth - 1]);
}

}  // namespace

void check_first(const Nesting& nesting, const NestedPage& page, Level last_level) {
  if (!page.begins_within_row()) return;
  const u32 r = page.first_repetition;
  if (last_level < nesting.list_levels[r]) throw order_error(0, r);
}

void count_slots(const Nesting& nesting, Planes& planes, NestedPage& page) {
  if (page.repetition && !in_order(nesting, planes)) throw_first_out_of_order(nesting, page);
  const auto count = [&](const u64* bits) { return loops().count_bits(bits, planes.words()); };
  page.slots.clear();
  for (u32 depth = 0; depth < nesting.list_levels.size(); ++depth) {
    page.slots.push_back(count(planes.beginning(depth)));
  }
  page.num_values = count(planes.reaching(nesting.max_definition_level));
  page.first_repetition = page.count != 0 && page.repetition ? page.r()[0] : 0;
  page.last_definition = page.count != 0 ? page.d()[page.count - 1] : 0;
}

std::vector<PageRange> cut(const Nesting& nesting, const std::vector<PageRange>& rows,
                           NestedPage& page) {
  auto* r = reinterpret_cast<Level*>(page.repetition.data());
  auto* d = reinterpret_cast<Level*>(page.definition.data());
  std::vector<PageRange> values;
  u64 entry = 0, value = 0, row = 0;  // the next; `row` is the one that `entry` lies in
  u64 kept = 0;
  // Passes over the entries before row `stop`; the values among them are counted.
  const auto pass = [&](u64 stop) {
    for (; entry < page.count; ++entry) {
      const u64 of_entry = row + (entry != 0 && (r == nullptr || r[entry] == 0) ? 1 : 0);
      if (of_entry >= stop) return;
      row = of_entry;
      value += d[entry] == nesting.max_definition_level ? 1 : 0;
    }
  };
  for (const PageRange& range : rows) {
    pass(range.start);
    const u64 first_entry = entry, first_value = value;
    pass(range.stop);
    const u64 entries = entry - first_entry;
    if (r != nullptr) std::memmove(r + kept, r + first_entry, entries * sizeof(Level));
    std::memmove(d + kept, d + first_entry, entries * sizeof(Level));
    kept += entries;
    values.push_back({first_value, value});
  }
  page.count = kept;
  return values;
}

void fill_levels(const Nesting& nesting, Planes& planes, const NestedPage& page,
                 NestedOutput& output, u8* validity, std::atomic<i64>& null_count, Buffer& bits) {
  const u32 innermost = nesting.max_repetition_level();
  for (u32 depth = 1; depth <= innermost; ++depth) {
    fill_offsets(planes, page, depth, output.offsets[depth - 1].data());
  }
  for (u64 i = 0; i < nesting.groups.size(); ++i) {
    const OptionalGroup& group = nesting.groups[i];
    const u64 set = bits_of_slots(planes, page, group.depth, group.level, bits);
    put_validity(bits, set, page.slots[group.depth], output.groups[i].bits.data(),
                 page.first_slots[group.depth], output.groups[i].null_count);
  }
  const u64 count = page.slots[innermost];
  u64 set = count;
  if (page.num_values != count) {
    set = bits_of_slots(planes, page, innermost, nesting.max_definition_level, bits);
  }
  if (validity != nullptr) {
    put_validity(bits, set, count, validity, page.first_slots[innermost], null_count);
  }
}

void fill_values(ValueType type, const Buffer& bits, const NestedPage& page, const u8* values,
                 u8* out) {
  const u64 count = page.slots.back(), at = page.first_slots.back();
  if (count == 0) return;
  const bool all = page.num_values == count;
  if (type.kind == Kind::BITS) {
    Buffer spaced;
    if (!all) {
      spaced = Buffer((count + 63) / 64 * sizeof(u64), true);
      loops().scatter(type, bits.data(), count, values, spaced.data());
    }
    merge_bits(all ? values : spaced.data(), 0, count, out, at);
    return;
  }
  u8* to = out + at * type.stride();
  if (values == to) return;
  if (all) {
    std::memcpy(to, values, count * type.stride());
  } else {
    loops().scatter(type, bits.data(), count, values, to);
  }
}

}  // namespace pq
