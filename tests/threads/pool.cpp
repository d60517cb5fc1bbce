// Reads on the pool from many threads at once, some of them cancelled at any moment: for
// ThreadSanitizer (tools/threads). Every read that is not cancelled gives the values.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "../fuzz/chunk.hpp"

namespace pq {
namespace {

constexpr u32 PAGES = 60, VALUES = 500, CALLERS = 8, READS = 60;

void varint(std::vector<u8>& out, u64 value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<u8>(value | 0x80));
  out.push_back(static_cast<u8>(value));
}

void number(std::vector<u8>& out, u32 delta, i64 value) {
  out.push_back(static_cast<u8>(delta << 4 | 5));
  varint(out, static_cast<u64>(value) << 1);
}

void page(std::vector<u8>& out, bool dictionary, i64 values, const std::vector<u8>& body) {
  number(out, 1, dictionary ? 2 : 0);
  number(out, 1, static_cast<i64>(body.size()));
  number(out, 1, static_cast<i64>(body.size()));
  out.push_back(dictionary ? 0x4c : 0x2c);
  number(out, 1, values);
  number(out, 1, dictionary ? 0 : 8);
  if (!dictionary) number(out, 1, 3), number(out, 1, 3);
  out.push_back(0), out.push_back(0);
  out.insert(out.end(), body.begin(), body.end());
}

// A dictionary of texts, and pages of one run of indices each.
std::vector<u8> chunk() {
  std::vector<u8> out, texts;
  for (u32 i = 0; i < PAGES; ++i) {
    const std::string text = "a text of more than twelve bytes " + std::to_string(i);
    const u32 size = static_cast<u32>(text.size());
    for (u32 shift = 0; shift < 32; shift += 8) texts.push_back(static_cast<u8>(size >> shift));
    texts.insert(texts.end(), text.begin(), text.end());
  }
  page(out, true, PAGES, texts);
  for (u32 i = 0; i < PAGES; ++i) {
    std::vector<u8> run{6};
    varint(run, VALUES << 1);
    run.push_back(static_cast<u8>(i));
    page(out, false, VALUES, run);
  }
  return out;
}

void read_many(const Fuzzed& column, const std::vector<u8>& bytes, u32 seed,
               const std::shared_ptr<Team>& team) {
  std::mt19937 random(seed);
  for (u32 i = 0; i < READS; ++i) {
    const std::shared_ptr<u8[]> copy = padded(bytes.data(), bytes.size(), 16);
    ReadSpec spec = spec_of(column, copy, bytes.size());
    spec.workers = team->workers;
    auto read = std::make_shared<ReadWork>(std::move(spec));
    const auto work =
        std::make_shared<Work>(team, [read](Phase& phase) { return read->next(phase); });
    if (i % 2 != 0) {
      work->submit();
    } else {
      work->begin_here();
    }
    const bool cancelled = i % 3 == 0;
    if (cancelled) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      work->cancel();
    } else if (i % 5 == 0) {
      work->urge();
    }
    while (!work->wait(1'000'000'000)) {
    }
    work->rethrow();
    if (work->is_cancelled()) continue;
    const std::string values = values_of(take_decoded(read->read(), PAGES * VALUES));
    require(values.find("bytes 59") != std::string::npos, "values are missing");
  }
}

}  // namespace
}  // namespace pq

int main() {
  pq::choose_loops("portable");
  pq::Fuzzed column;
  column.column.leaf = 0;
  column.column.type = {pq::Kind::TEXT, 0};
  column.column.nesting = pq::shape_of(0);
  column.column.max_definition_level = column.column.shared_lists = column.column.shared_groups = 0;
  column.num_rows = column.num_values = pq::PAGES * pq::VALUES;
  const std::vector<pq::u8> bytes = pq::chunk();
  std::vector<std::thread> callers;
  const auto shared = std::make_shared<pq::Team>(3);
  for (pq::u32 i = 0; i < pq::CALLERS; ++i) {
    const auto team = i % 2 != 0 ? shared : std::make_shared<pq::Team>(1 + i);
    callers.emplace_back([&, i, team] { pq::read_many(column, bytes, i, team); });
  }
  for (std::thread& caller : callers) caller.join();
  pq::stop_pool();
  std::printf("%u reads by %u threads\n", pq::CALLERS * pq::READS, pq::CALLERS);
}
