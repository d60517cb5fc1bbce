// Page headers of a chunk, walked through windows of two sizes: the same pages.
#include "input.hpp"
#include "page_walk.hpp"

namespace pq {
namespace {

std::string walked(const u8* data, u64 size, u64 window_bytes, i64 num_values, bool flat) {
  return outcome([&] {
    constexpr i64 START = 4;
    const i64 stop = START + static_cast<i64>(size);
    WalkState state{START, stop, stop, num_values, num_values, 0, 0, 0, 0, flat, false};
    std::string out, statistics;
    for (;;) {
      const u64 at = static_cast<u64>(state.position - START);
      const u64 window = std::min(window_bytes, size - at);
      const auto bytes = padded(data + at, window, 0);
      const i64 before = state.position;
      const WalkResult result = walk_page_headers(bytes.get(), window, state.position, state);
      for (Page page : result.pages) {
        require(
            page.offset >= START && page.header_bytes > 0 && page.offset + page.total_bytes <= stop,
            "a page outside of its chunk");
        for (const auto& [start, length] : {std::pair(page.min_start, page.min_length),
                                            std::pair(page.max_start, page.max_length)}) {
          require(start < 0 || static_cast<u64>(start + length) <= result.statistics.size(),
                  "bounds outside of the statistics");
        }
        page.min_start = page.max_start = 0;  // in the window's own statistics
        out.append(reinterpret_cast<const char*>(&page), sizeof page);
      }
      statistics.append(reinterpret_cast<const char*>(result.statistics.data()),
                        result.statistics.size());
      if (result.end == WalkEnd::DONE) return out + statistics + result.warning;
      if (result.end == WalkEnd::HEADER_CUT) {
        if (window == size - at) return out + statistics + "cut";
        window_bytes *= 2;
      }
      require(state.position > before || result.end == WalkEnd::HEADER_CUT, "no step forward");
      require(state.position <= stop, "beyond the chunk");
      if (state.position == stop) return out + statistics + result.warning;
    }
  });
}

}  // namespace
}  // namespace pq

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  pq::Input in(data, size);
  const auto num_values = in.take<pq::i16>();
  const bool flat = in.take<pq::u8>() & 1;
  const auto walk = [&](pq::u64 window_bytes) {
    return pq::walked(in.data(), in.size(), window_bytes, num_values, flat);
  };
  const std::string whole = walk(pq::u64{1} << 30), pieces = walk(64);
  pq::require(whole == pieces, "windows change the pages");
  return 0;
}
