// DELTA_LENGTH_BYTE_ARRAY: the lengths of all values, then their bytes. DELTA_BYTE_ARRAY: before
// these, how much each value takes over from the front of the one before it.
#pragma once
#include "delta.cuh"
#include "plain.cuh"

namespace pq {

// Byte arrays back to back, whose lengths are known: calls use(ordinal, value, length, readable) as
// walk_byte_arrays does.
template <class Group, class Use>
PQ_HD StatusWord walk_lengths(const Group& group, const u32* lengths, const u8* bytes, u64 size,
                              u64 count, Status refused, Use& use) {
  u64 at = 0;
  u64 bad = count;
  for (u64 first = 0; first < count; first += group.size()) {
    const u64 i = first + group.rank();
    const u64 length = i < count ? lengths[i] : 0;
    const u64 start = at + group.exclusive_sum(length);
    const bool beyond = start > size || length > size - start;
    if (group.any(beyond)) {
      return status_word(Status::VALUE_LENGTH, group.least(beyond ? i : count));
    }
    if (i < count && bad == count &&
        !use(i, bytes + start, static_cast<u32>(length), size - start)) {
      bad = i;
    }
    at += group.sum(length);
  }
  bad = group.least(bad);
  return bad == count ? STATUS_OK : status_word(refused, bad);
}

// Suffix lengths become those of the whole values; `total`: the bytes of all. Nothing is trusted:
// prefixes must lie in the value before (of `before` bytes, for the first one), suffixes in the
// `size` bytes that there are, and where `width` is not 0, every value must be that long.
template <class Group>
PQ_HD StatusWord add_prefixes(const Group& group, const u32* prefixes, u32* lengths, u64 count,
                              u64 size, u64 before, u32 width, u64& total) {
  u64 suffixes = 0;
  u64 length = before;  // of the value before
  total = 0;
  for (u64 i = 0; i < count; ++i) {
    const u64 suffix = lengths[i];
    if (prefixes[i] > length) return status_word(Status::PREFIX, i);
    if (suffix > size - suffixes) return status_word(Status::VALUE_LENGTH, i);
    suffixes += suffix;
    length = prefixes[i] + suffix;
    if (width != 0 && length != width) return status_word(Status::FIXED_LENGTH, i);
    if (length > 0x7fffffff) return status_word(Status::VALUE_LENGTH, i);
    total += length;
    group.sync();
    if (group.leader()) lengths[i] = static_cast<u32>(length);
  }
  group.sync();
  return STATUS_OK;
}

// The values back to back in `total` bytes, once add_prefixes has found them right. The first
// prefix is that of before[0, before_size), the suffixes are in suffixes[0, size).
template <class Group>
PQ_HD void join_prefixes(const Group& group, const u32* prefixes, const u32* lengths, u64 count,
                         const u8* suffixes, u64 size, const u8* before, u64 before_size, u8* out,
                         u64 total) {
  const u8* suffixes_end = suffixes + size;
  const u8* before_end = before + before_size;
  u8* end = out + total;
  for (u64 i = 0; i < count; ++i) {
    const u64 prefix = prefixes[i], suffix = lengths[i] - prefixes[i];
    const auto left = [](const u8* from, const u8* to) { return static_cast<u64>(to - from); };
    copy_literal(group, before, prefix, left(before, before_end), left(out, end), out);
    copy_literal(group, suffixes, suffix, left(suffixes, suffixes_end), left(out + prefix, end),
                 out + prefix);
    group.sync();
    before = out;
    before_end = end;
    suffixes += suffix;
    out += lengths[i];
  }
}

}  // namespace pq
