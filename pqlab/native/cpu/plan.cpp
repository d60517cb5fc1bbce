// Wanted byte ranges to requests; pqlab/plan/coalesce.py says what holds.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "coalesce.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Positions = nb::ndarray<const i64, nb::ndim<1>, nb::device::cpu>;

// Sorted, those that overlap made one; those that only touch stay apart.
std::vector<ByteRange> without_overlaps(std::vector<ByteRange> ranges) {
  const auto before = [](const ByteRange& a, const ByteRange& b) { return a.start < b.start; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) {
    std::sort(ranges.begin(), ranges.end(), before);
  }
  std::vector<ByteRange> merged;
  for (const ByteRange& range : ranges) {
    if (!merged.empty() && range.start < merged.back().stop) {
      merged.back().stop = std::max(merged.back().stop, range.stop);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

void split(const ByteRange& range, i64 max_bytes, std::vector<ByteRange>& requests) {
  const i64 parts = (range.bytes() - 1) / max_bytes + 1;
  const i64 whole = range.bytes() / parts, rest = range.bytes() % parts;
  for (i64 part = 0; part < parts; ++part) {
    // Cuts at bytes * part / parts, which does not fit 64 bits as it stands.
    const auto cut = [&](i64 at) { return range.start + whole * at + rest * at / parts; };
    requests.push_back({cut(part), cut(part + 1)});
  }
}

// So long that all connections have work, within what the policy allows.
i64 longest_request(i64 wanted_bytes, i64 split_bytes, i64 max_request_bytes, i64 concurrency) {
  const i64 share_bytes = (wanted_bytes + concurrency - 1) / concurrency;
  const i64 least = std::min(split_bytes, max_request_bytes);
  return std::min(std::max(share_bytes, least), max_request_bytes);
}

// The positions in `ranges` at which requests begin; longer ranges than those stay alone. Gaps are
// taken from the smallest on, while `budget_bytes` last or requests outnumber connections.
std::vector<u64> first_of_each(const std::vector<ByteRange>& ranges, i64 most_bytes,
                               i64 budget_bytes, i64 gap_bytes, u64 concurrency) {
  std::vector<std::pair<i64, u64>> gaps;
  for (u64 at = 1; at < ranges.size(); ++at) {
    const i64 gap = ranges[at].start - ranges[at - 1].stop;
    if (gap <= gap_bytes) gaps.emplace_back(gap, at);
  }
  std::sort(gaps.begin(), gaps.end());
  // The first and the last range of the request that each range is the last or the first of.
  std::vector<u64> first(ranges.size());
  std::iota(first.begin(), first.end(), 0);
  std::vector<u64> last = first;
  std::vector<bool> joined(ranges.size());  // to the range before
  u64 count = ranges.size();
  for (const auto& [gap, at] : gaps) {
    if (gap > budget_bytes && count <= concurrency) break;
    const u64 begin = first[at - 1], end = last[at];
    if (ranges[end].stop - ranges[begin].start > most_bytes) continue;
    joined[at] = true;
    last[begin] = end;
    first[end] = begin;
    budget_bytes -= gap;
    --count;
  }
  std::vector<u64> firsts;
  for (u64 at = 0; at < ranges.size(); ++at) {
    if (!joined[at]) firsts.push_back(at);
  }
  return firsts;
}

}  // namespace

std::vector<ByteRange> coalesce(std::vector<ByteRange> wanted, const Coalescing& by,
                                i64* wanted_bytes) {
  const std::vector<ByteRange> ranges = without_overlaps(std::move(wanted));
  i64 bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.bytes();
  if (wanted_bytes != nullptr) *wanted_bytes = bytes;
  const i64 concurrency = std::max<i64>(by.concurrency, 1);
  const i64 most_bytes = longest_request(bytes, by.split_bytes, by.max_request_bytes, concurrency);
  const i64 overread_bytes = static_cast<i64>(by.overread_share * static_cast<double>(bytes));
  const std::vector<u64> firsts =
      first_of_each(ranges, most_bytes, std::max(overread_bytes, by.allowance_bytes), by.gap_bytes,
                    static_cast<u64>(concurrency));
  std::vector<ByteRange> requests;
  for (u64 i = 0; i < firsts.size(); ++i) {
    const u64 after = i + 1 < firsts.size() ? firsts[i + 1] : ranges.size();
    const ByteRange request{ranges[firsts[i]].start, ranges[after - 1].stop};
    if (request.bytes() > most_bytes) {
      split(request, most_bytes, requests);
    } else {
      requests.push_back(request);
    }
  }
  return requests;
}

namespace {

// Ranges (start, stop) to (requests, how many bytes are wanted, each counted once).
nb::tuple coalesce_arrays(const Positions& starts, const Positions& stops, const Coalescing& by) {
  if (starts.shape(0) != stops.shape(0)) throw nb::value_error("as many stops as starts");
  const auto start = starts.view<const i64, nb::ndim<1>>();
  const auto stop = stops.view<const i64, nb::ndim<1>>();
  std::vector<ByteRange> wanted;
  wanted.reserve(starts.shape(0));
  for (u64 i = 0; i < starts.shape(0); ++i) {
    if (start(i) < stop(i)) wanted.push_back({start(i), stop(i)});
  }
  i64 wanted_bytes = 0;
  nb::list pairs;
  for (const ByteRange& request : coalesce(std::move(wanted), by, &wanted_bytes)) {
    pairs.append(nb::make_tuple(request.start, request.stop));
  }
  return nb::make_tuple(nb::tuple(pairs), wanted_bytes);
}

}  // namespace

void bind_plan(nb::module_& m) {
  nb::class_<Coalescing>(m, "Coalescing", "The sizes of a policy that bear on requests.")
      .def(
          "__init__",
          [](Coalescing* self, i64 gap_bytes, i64 split_bytes, i64 max_request_bytes,
             double overread_share, i64 allowance_bytes, i64 concurrency) {
            new (self) Coalescing{gap_bytes,      split_bytes,     max_request_bytes,
                                  overread_share, allowance_bytes, concurrency};
          },
          nb::kw_only(), nb::arg("gap_bytes"), nb::arg("split_bytes"), nb::arg("max_request_bytes"),
          nb::arg("overread_share"), nb::arg("allowance_bytes") = 0, nb::arg("concurrency"));
  m.def("coalesce", &coalesce_arrays, nb::arg("starts"), nb::arg("stops"), nb::arg("coalescing"));
}

}  // namespace pq
