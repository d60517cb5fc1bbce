#include "footer_imprint.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pq {
namespace {

// Whether the bytes from `at` on are as `words` says: four values, the masks of their bits that
// count, and so on.
struct Portable : JoinPortable {
  static bool match(const u8* at, const u64* words, const u64* end) {
    u64 differs = 0;
    for (; words != end; words += 8, at += 32) {
      for (int i = 0; i < 4; ++i) {
        differs |= (load_word(at + 8 * i) & words[4 + i]) ^ words[i];
      }
    }
    return differs == 0;
  }
};

#if defined(__x86_64__)
struct Avx2 : JoinPext {
  __attribute__((target("avx2"))) static bool match(const u8* at, const u64* words,
                                                    const u64* end) {
    __m256i differs = _mm256_setzero_si256();
    for (; words != end; words += 8, at += 32) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
      const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + 4));
      differs = _mm256_or_si256(differs, _mm256_xor_si256(_mm256_and_si256(bytes, mask), value));
    }
    return _mm256_testz_si256(differs, differs) != 0;
  }
};
bool has_avx2() { return has_pext() && __builtin_cpu_supports("avx2"); }
#else
using Avx2 = Portable;
bool has_avx2() { return false; }
#endif
const bool HAS_AVX2 = has_avx2();

}  // namespace

// Words may begin anywhere: they are shifted into place.
void Imprint::Region::append(const Shape::Word& word, u64 count) {
  for (u64 i = 0; i < count; ++i, ++num_bytes) {
    if (num_bytes % 32 == 0) words.resize(words.size() + 8);
    u64* const four = &words[num_bytes / 32 * 8 + num_bytes / 8 % 4];
    const u64 shift = num_bytes % 8 * 8;
    four[0] |= (word.value >> 8 * i & 0xff) << shift;
    four[4] |= (word.mask >> 8 * i & 0xff) << shift;
  }
}

Imprint::Imprint(const Shape& shape, u32 shape_id, const Lengths& lengths)
    : shape_(shape_id),
      columns_(shape.columns),
      lengths_(lengths.of, lengths.of + shape.steps.size() - 1) {
  Region* region = &before_;
  const Shape::Word* more = shape.more.data();
  for (size_t s = 0; s < shape.steps.size(); ++s) {
    const Shape::Step& step = shape.steps[s];
    region->append(step.first, std::min<u64>(8, step.num_bytes));
    for (int w = 1; w <= step.more_words; ++w) {
      region->append(*more++, std::min<u64>(8, step.num_bytes - 8ull * static_cast<u64>(w)));
    }
    if (step.part == Shape::Part::PATH) region = &behind_;
    const bool is_behind = region == &behind_;
    if (step.part == Shape::Part::STATISTICS) {
      statistics_ = static_cast<i64>(region->num_bytes);
      usable_ &= is_behind;
    } else if (step.part == Shape::Part::NUMBER) {
      const u64 length = lengths_[s];
      const u32 offset = static_cast<u32>(region->num_bytes);
      if (step.column != ChunkTable::NOWHERE) {
        numbers_.push_back({offset, static_cast<u32>(step.column * ChunkTable::STRIDE),
                            PAYLOAD_BITS & low_bytes(length)});
        usable_ &= is_behind;
      }
      // Continuation bits as they are, and the sign bit.
      const u64 high = 0x8080808080808080ull;
      region->append({high & low_bytes(length - 1), high | 1}, length);
    } else if (step.part == Shape::Part::BYTES) {
      region->append({lengths_[s] - 1u, 0xff}, 1);
      for (int i = 1; i < lengths_[s]; ++i) region->append({0, 0}, 1);
    }
  }
  usable_ &= region == &behind_;
  for (const Shape::Constant& constant : shape.constants) {
    constants_.push_back({0, static_cast<u32>(constant.column * ChunkTable::STRIDE),
                          static_cast<u64>(constant.value)});
  }
}

bool Imprint::is(u32 shape_id, const Lengths& lengths) const {
  return shape_ == shape_id && std::equal(lengths_.begin(), lengths_.end(), lengths.of);
}

template <class Machine>
inline bool Imprint::match(Machine machine, const Schema& schema, u64 leaf, FooterReader& in,
                           ChunkTable& table) const {
  const u8* const end = in.data + in.size;
  const u8* const start = in.data + in.position;
  const u64 needed = before_.num_bytes + behind_.num_bytes + OVERREAD;
  if (in.left() < needed) return false;
  const auto matches = [](const Region& region, const u8* at) {
    return Machine::match(at, region.words.data(), region.words.data() + region.words.size());
  };
  if (!matches(before_, start)) return false;
  const u8* const at = follow_path(start + before_.num_bytes, end, in.data, schema, leaf);
  if (!at || static_cast<u64>(end - at) < needed || !matches(behind_, at)) return false;
  i64* const row = table.row(columns_);
  for (const Number& number : numbers_) {
    row[number.cell] += static_cast<i64>(machine(load_word(at + number.offset), number.payload));
  }
  for (const Number& constant : constants_) row[constant.cell] = static_cast<i64>(constant.payload);
  if (statistics_ >= 0)
    row[CHUNK_STATISTICS_POSITION * ChunkTable::STRIDE] = at + statistics_ - start;
  in.position = static_cast<u64>(at - in.data) + behind_.num_bytes;
  return true;
}

bool Imprint::match(const Schema& schema, u64 leaf, FooterReader& in, ChunkTable& table) const {
  return HAS_AVX2 ? match(Avx2{}, schema, leaf, in, table)
                  : match(Portable{}, schema, leaf, in, table);
}

}  // namespace pq
