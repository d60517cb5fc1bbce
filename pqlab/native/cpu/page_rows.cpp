// How many rows begin in each page, where only the repetition levels tell: of nested v1 pages, and
// of v2 pages whose headers contradict their row group.
#include <cstring>
#include <vector>

#include "bindings.hpp"
#include "bits.cuh"
#include "codecs.hpp"
#include "error.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "page.cuh"
#include "read.hpp"
#include "status.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct LevelSpan {
  const u8* bytes;
  u64 size;
  bool bit_packed;
};

class RowCounter {
 public:
  RowCounter(const Bytes& data, i64 offset, i32 codec, u32 max_level, i64 max_page_bytes)
      : data_(data.data()),
        size_(data.shape(0)),
        offset_(offset),
        codec_(codec),
        max_level_(max_level),
        max_page_bytes_(max_page_bytes) {}

  i32 rows(const Page& page) {
    if (page.page < 0 || page.num_values <= 0) return 0;
    if (max_level_ == 0) return page.num_values;
    const u64 count = static_cast<u64>(page.num_values);
    const LevelSpan span = levels_of(page, body_of(page));
    // A level takes at least as many bytes as one run of them all.
    if (span.size == 0) throw truncated();
    const auto decode = span.bit_packed ? loops().levels_from_bit_packed : loops().levels_from_rle;
    auto* levels = reinterpret_cast<Level*>(levels_.reserve(count * sizeof(Level)));
    const StatusWord word = decode(span.bytes, span.size, max_level_, count, levels);
    if (word != STATUS_OK) throw error_of(word, "repetition level");
    i32 rows = 0;
    for (u64 i = 0; i < count; ++i) rows += levels[i] == 0 ? 1 : 0;
    return rows;
  }

 private:
  struct Body {
    const u8* bytes;
    u64 size;
  };

  static Error truncated() {
    return error_of(status_word(Status::TRUNCATED, 0), "repetition level");
  }

  Body body_of(const Page& page) const {
    const i64 start = page.offset - offset_;
    const bool inside = start >= 0 && page.header_bytes >= 0 &&
                        page.total_bytes >= page.header_bytes &&
                        start + page.total_bytes <= static_cast<i64>(size_);
    if (!inside) throw Error(ErrorKind::Corrupt, "the page does not lie in its chunk");
    return {data_ + start + page.header_bytes,
            static_cast<u64>(page.total_bytes - page.header_bytes)};
  }

  LevelSpan levels_of(const Page& page, Body body) {
    if (page.type == PageType::DATA_PAGE_V2) {  // never compressed
      const i32 size = page.repetition_levels_byte_length;
      if (size < 0 || static_cast<u64>(size) > body.size) throw truncated();
      return {body.bytes, static_cast<u64>(size), false};
    }
    body = decompressed(page, body);
    const auto encoding = static_cast<Encoding>(page.repetition_level_encoding);
    if (encoding == Encoding::BIT_PACKED) return {body.bytes, body.size, true};
    if (encoding != Encoding::RLE) {
      throw Error(ErrorKind::Unsupported, "repetition levels of this encoding are not read");
    }
    if (body.size < sizeof(u32)) throw truncated();
    const u32 size = load<u32>(body.bytes);
    if (size > body.size - sizeof(u32)) throw truncated();
    return {body.bytes + sizeof(u32), size, false};
  }

  Body decompressed(const Page& page, Body body) {
    if (codec_ == static_cast<i32>(Codec::UNCOMPRESSED) || body.size == 0) return body;
    const i64 size = page.uncompressed_page_size;
    if (size < 0 || size > max_page_bytes_) {
      ReadSpec spec;
      spec.max_page_bytes = max_page_bytes_;
      throw page_bytes_error(static_cast<u64>(size), spec);
    }
    u8* to = page_.reserve(static_cast<u64>(size));
    decompressor_.decompress(codec_, body.bytes, body.size, to, static_cast<u64>(size));
    return {to, static_cast<u64>(size)};
  }

  const u8* data_;
  u64 size_;
  i64 offset_;
  i32 codec_;
  u32 max_level_;
  i64 max_page_bytes_;
  Decompressor decompressor_;
  Buffer page_, levels_;
};

// `pages`: rows of the page table, as page headers tell them; `data`: the bytes of their chunk.
nb::list page_rows(const Bytes& pages, const Bytes& data, i64 offset, i32 codec, u32 max_level,
                   i64 page_bytes) {
  std::vector<i32> rows(pages.shape(0) / sizeof(Page));
  {
    const nb::gil_scoped_release released;
    RowCounter counter(data, offset, codec, max_level, page_bytes);
    for (u64 i = 0; i < rows.size(); ++i) {
      Page page;
      std::memcpy(&page, pages.data() + i * sizeof(Page), sizeof(Page));
      try {
        rows[i] = counter.rows(page);
      } catch (Error& error) {
        error.page = page.page;
        error.offset = page.offset;
        throw;
      }
    }
  }
  nb::list out;
  for (const i32 count : rows) out.append(count);
  return out;
}

}  // namespace

void bind_page_rows(nb::module_& m) {
  m.def("page_rows", &page_rows, nb::arg("pages"), nb::arg("data"), nb::kw_only(),
        nb::arg("offset"), nb::arg("codec"), nb::arg("max_repetition_level"), nb::arg("page_bytes"),
        "How many rows begin in each of these pages of one chunk.");
}

}  // namespace pq
