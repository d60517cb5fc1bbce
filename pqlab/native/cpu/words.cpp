#include "words.hpp"

#include <algorithm>
#include <mutex>
#include <random>

#include "xxhash.cuh"

namespace pq {
namespace {

constexpr u64 FIRST_SLOTS = 1024;
constexpr u64 MAX_WORDS = 0xfffffffe;
constexpr u64 BLOCK_BYTES = 64 << 10;

// Of this process alone: no file can be made of words that all fall on one slot.
u64 seed() {
  static const u64 value = [] {
    std::random_device random;
    return static_cast<u64>(random()) << 32 | random();
  }();
  return value;
}

const u8* text_of(const View& view, const u8* bytes) {
  return view.length <= MAX_INLINE_LENGTH ? reinterpret_cast<const u8*>(view.data)
                                          : bytes + view.data[2];
}

}  // namespace

void Words::look_up(const u8* bytes, const View* views, u64 count, u32* codes) {
  u64 known = 0;
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (u64 i = 0; i < count; ++i) {
      const u8* text = text_of(views[i], bytes);
      codes[i] = find(xxhash64(text, views[i].length, seed()), text, views[i].length);
      known += codes[i] != 0 ? 1 : 0;
    }
  }
  if (known == count) return;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  for (u64 i = 0; i < count; ++i) {
    if (codes[i] != 0) continue;
    const u8* text = text_of(views[i], bytes);
    codes[i] = add(xxhash64(text, views[i].length, seed()), text, views[i].length);
  }
}

u32 Words::find(u64 hash, const u8* data, u32 length) const {
  if (slots_.empty()) return 0;
  const u64 mask = slots_.size() - 1;
  for (u64 slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Word& word = words_[slots_[slot] - 1];
    if (word.check != static_cast<u32>(hash >> 32) || word.length != length) continue;
    if (std::memcmp(word.data, data, length) == 0) return slots_[slot];
  }
  return 0;
}

u32 Words::add(u64 hash, const u8* data, u32 length) {
  const u32 found = find(hash, data, length);  // by another page, or by an earlier value
  if (found != 0) return found;
  if (words_.size() == MAX_WORDS) {
    throw Error(ErrorKind::Limit, "more distinct texts than codes of 32 bits");
  }
  if (2 * words_.size() >= slots_.size()) grow();
  words_.push_back({keep(data, length), length, static_cast<u32>(hash >> 32)});
  const u64 mask = slots_.size() - 1;
  u64 slot = hash & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  return slots_[slot] = static_cast<u32>(words_.size());
}

const u8* Words::keep(const u8* data, u32 length) {
  if (kept_.empty() || kept_.back().size() - used_ < length) {
    kept_.emplace_back(std::max<u64>(BLOCK_BYTES, length));
    used_ = 0;
  }
  u8* to = kept_.back().data() + used_;
  std::memcpy(to, data, length);
  used_ += length;
  return to;
}

void Words::grow() {
  slots_.assign(std::max<u64>(FIRST_SLOTS, 2 * slots_.size()), 0);
  const u64 mask = slots_.size() - 1;
  for (u64 i = 0; i < words_.size(); ++i) {
    u64 slot = xxhash64(words_[i].data, words_[i].length, seed()) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<u32>(i + 1);
  }
}

void Words::sort(u32* codes, u64 count) {
  std::vector<u8> occurs(words_.size() + 1, 0);
  for (u64 i = 0; i < count; ++i) occurs[codes[i]] = 1;
  std::vector<u32> order;
  u64 bytes = 0;
  for (u32 code = 1; code <= words_.size(); ++code) {
    if (occurs[code] == 0) continue;
    order.push_back(code);
    bytes += words_[code - 1].length;
  }
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    const Word &left = words_[a - 1], &right = words_[b - 1];
    const int compared = std::memcmp(left.data, right.data, std::min(left.length, right.length));
    return compared != 0 ? compared < 0 : left.length < right.length;
  });
  size_ = order.size();
  offsets_ = Buffer((size_ + 1) * sizeof(i64));
  bytes_ = Buffer(bytes);
  std::vector<u32> ordinal(words_.size() + 1, 0);
  u64 at = 0;
  for (u64 i = 0; i < size_; ++i) {
    const Word& word = words_[order[i] - 1];
    store(offsets_.data() + i * sizeof(i64), static_cast<i64>(at));
    std::memcpy(bytes_.data() + at, word.data, word.length);
    at += word.length;
    ordinal[order[i]] = static_cast<u32>(i);
  }
  store(offsets_.data() + size_ * sizeof(i64), static_cast<i64>(at));
  for (u64 i = 0; i < count; ++i) codes[i] = ordinal[codes[i]];
  words_ = {};
  slots_ = {};
  kept_.clear();
}

}  // namespace pq
