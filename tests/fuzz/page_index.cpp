// The offset index and the column index of a chunk.
#include "page_index.hpp"

#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  pq::Input in(data, size);
  const pq::u64 offset_bytes = in.take<pq::u16>();
  const pq::i64 num_rows = in.take<pq::u16>(), start = in.take<pq::u16>();
  const pq::i64 stop = start + in.take<pq::u32>();
  const pq::u32 flags = in.take<pq::u8>() & 3;
  const pq::u64 first = std::min(offset_bytes, in.size());
  const auto bytes = pq::padded(in.data(), in.size(), 0);
  const pq::IndexedChunk chunk{start,
                               stop,
                               (flags & 2) ? start : -1,
                               num_rows,
                               0,
                               static_cast<pq::i64>(first),
                               static_cast<pq::i32>(first),
                               static_cast<pq::i32>(in.size() - first),
                               0,
                               0,
                               flags,
                               0};
  pq::outcome([&] {
    const auto result = pq::parse_page_index(bytes.get(), in.size(), &chunk, 1, 100'000, 1);
    for (pq::u64 i = 0; i < result.num_pages; ++i) {
      const pq::Page& page = result.pages[i];
      pq::require(page.offset >= start && page.offset + page.total_bytes <= stop,
                  "a page outside of its chunk");
      pq::require(page.page == -1 || (page.first_row >= 0 && page.first_row <= num_rows),
                  "a row that is not there");
      for (const auto& [at, length] : {std::pair(page.min_start, page.min_length),
                                       std::pair(page.max_start, page.max_length)}) {
        pq::require(at < 0 || static_cast<pq::u64>(at + length) <= in.size(), "bounds outside");
      }
    }
    std::free(result.pages);
    return std::string();
  });
  return 0;
}
