// The bytes of a FileMetaData: recognising chunks by shape changes nothing, and what the footer
// leaves in place is read without harm.
#include "footer.hpp"

#include "footer_details.hpp"
#include "input.hpp"

namespace pq {
namespace {

constexpr FooterLimits LIMITS{10'000, 100, 10'000, 100'000};

std::string parsed(const u8* data, u64 size, bool predict) {
  return outcome([&] {
    FooterReader in(data, size);
    Footer footer;
    read_footer(in, LIMITS, predict, footer);
    std::string out;
    for (int c = 0; c < CHUNK_COLUMNS; ++c) {
      const NarrowColumn& column = footer.chunks.column(c);
      out += std::to_string(column.size) + ":" + std::to_string(column.width) + ":" +
             std::to_string(column.first) + ":";
      if (column.width != 0) {
        out.append(reinterpret_cast<const char*>(column.data.get()), column.size * column.width);
      }
    }
    return out + std::to_string(in.num_warnings);
  });
}

// Everything that is read on demand, at any position.
void read_details(const u8* data, u64 size, u64 position) {
  const auto with = [&](auto read) {
    outcome([&] {
      FooterReader in(data, size, position);
      read(in);
      return std::string();
    });
  };
  with([](FooterReader& in) {
    StatisticsTable table(1);
    read_statistics(in, table);
    table.next_row();
    table.flush();
  });
  with([](FooterReader& in) {
    EncodingStats stats;
    read_encoding_stats(in, stats);
  });
  with([](FooterReader& in) {
    SizeStatistics stats;
    read_size_statistics(in, stats);
  });
  with([](FooterReader& in) { read_sorting_columns(in); });
  with([](FooterReader& in) { read_key_value_metadata(in); });
}

}  // namespace
}  // namespace pq

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  const auto exact = pq::padded(data, size, 0);
  const std::string walked = pq::parsed(exact.get(), size, false);
  const std::string predicted = pq::parsed(exact.get(), size, true);
  pq::require(walked == predicted, "recognised by shape: " + predicted.substr(0, 200) +
                                       "\nwalked: " + walked.substr(0, 200));
  const pq::u64 stride = size / 8 + 1;
  for (pq::u64 at = 0; at < size; at += stride) pq::read_details(exact.get(), size, at);
  return 0;
}
