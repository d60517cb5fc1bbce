// The body of a page, levels and values, in any encoding; its header, and a dictionary page where
// the encoding has one, are made to fit.
#include <vector>

#include "chunk.hpp"

namespace pq {
namespace {

// A page header in thrift's compact protocol, whose fields have ids that follow each other closely.
class Header {
 public:
  Header& number(u32 delta, i64 value) {
    bytes_.push_back(static_cast<u8>(delta << 4 | 5));
    return zigzag(value);
  }
  Header& structure(u32 delta) {
    bytes_.push_back(static_cast<u8>(delta << 4 | 12));
    return *this;
  }
  Header& end() {
    bytes_.push_back(0);
    return *this;
  }
  const std::vector<u8>& bytes() const { return bytes_; }

 private:
  Header& zigzag(i64 value) {
    u64 rest = static_cast<u64>(value) << 1 ^ static_cast<u64>(value >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<u8>(rest | 0x80));
    bytes_.push_back(static_cast<u8>(rest));
    return *this;
  }

  std::vector<u8> bytes_;
};

constexpr i64 ENCODINGS[] = {0, 2, 3, 5, 6, 7, 8, 9, 10};

void add_page(std::vector<u8>& chunk, const Header& header, const u8* body, u64 size) {
  chunk.insert(chunk.end(), header.bytes().begin(), header.bytes().end());
  chunk.insert(chunk.end(), body, body + size);
}

void add_dictionary(std::vector<u8>& chunk, const u8* body, u64 size, i64 entries) {
  Header header;
  header.number(1, 2).number(1, static_cast<i64>(size)).number(1, static_cast<i64>(size));
  header.structure(4).number(1, entries).number(1, 0).end().end();
  add_page(chunk, header, body, size);
}

// `v2`: the levels' lengths, repetition first; else they are in the body.
void add_data(std::vector<u8>& chunk, const u8* body, u64 size, i64 encoding, const Fuzzed& column,
              bool v2, i64 repetition_bytes, i64 definition_bytes) {
  Header header;
  header.number(1, v2 ? 3 : 0).number(1, static_cast<i64>(size)).number(1, static_cast<i64>(size));
  if (v2) {
    header.structure(5).number(1, column.num_values).number(1, 0).number(1, column.num_rows);
    header.number(1, encoding).number(1, definition_bytes).number(1, repetition_bytes);
  } else {
    header.structure(2).number(1, column.num_values).number(1, encoding).number(1, 3).number(1, 3);
  }
  header.end().end();
  add_page(chunk, header, body, size);
}

}  // namespace
}  // namespace pq

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  pq::Input in(data, size);
  pq::Fuzzed fuzzed = pq::take_column(in);
  const auto choice = in.take<pq::u8>();
  const pq::u64 dictionary_bytes = in.take<pq::u8>();
  const pq::i64 repetition_bytes = in.take<pq::u8>(), definition_bytes = in.take<pq::u8>();
  const pq::i64 encoding = pq::ENCODINGS[choice % std::size(pq::ENCODINGS)];
  fuzzed.codec = 0;
  fuzzed.num_values = std::max<pq::i64>(fuzzed.num_values % 1024, 1);
  if (!fuzzed.column.nesting.nested) fuzzed.num_rows = fuzzed.num_values;
  const bool coded = encoding == 2 || encoding == 8;
  const pq::u64 begin = coded ? std::min<pq::u64>(dictionary_bytes, in.size()) : 0;
  std::vector<pq::u8> chunk;
  if (coded) {
    const pq::u32 entry = std::max<pq::u32>(fuzzed.column.type.width, 1);
    pq::add_dictionary(chunk, in.data(), begin, static_cast<pq::i64>(begin / entry));
  }
  pq::add_data(chunk, in.data() + begin, in.size() - begin, encoding, fuzzed, choice & 128,
               repetition_bytes, definition_bytes);
  pq::read_in_all_forms(fuzzed, chunk.data(), chunk.size());
  return 0;
}
