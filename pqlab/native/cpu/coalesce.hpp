// Wanted byte ranges to requests; pqlab/plan/coalesce.py says what holds.
#pragma once
#include <vector>

#include "config.cuh"

namespace pq {

// Bytes [start, stop) of a file.
struct ByteRange {
  i64 start;
  i64 stop;
  i64 bytes() const { return stop - start; }
};

// The sizes of pqlab/plan/policy.py that bear on it.
struct Coalescing {
  i64 gap_bytes;
  i64 split_bytes;
  i64 max_request_bytes;
  double overread_share;
  i64 allowance_bytes;
  i64 concurrency;
};

// `wanted`: none empty. `wanted_bytes`: what they have, each byte counted once.
std::vector<ByteRange> coalesce(std::vector<ByteRange> wanted, const Coalescing& by,
                                i64* wanted_bytes = nullptr);

}  // namespace pq
