#include "xxhash.cuh"

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Checksums = nb::ndarray<u64, nb::numpy, nb::ndim<1>>;

u64 hash(Bytes data, u64 seed) {
  nb::gil_scoped_release release;
  return xxhash64(data.data(), data.size(), seed);
}

// One hash per block of `block_bytes`, the last one short; the block's ordinal is its seed, so that
// two blocks that change places do not go unseen.
Checksums hash_blocks(Bytes data, u64 block_bytes, u64 first) {
  if (block_bytes == 0) throw nb::value_error("block_bytes is 0");
  const u64 size = data.size();
  const u64 count = size / block_bytes + (size % block_bytes != 0);
  u64* hashes = new u64[count];
  nb::capsule owner(hashes, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
  {
    nb::gil_scoped_release release;
    for (u64 i = 0; i < count; ++i) {
      const u64 start = i * block_bytes;
      const u64 length = size - start < block_bytes ? size - start : block_bytes;
      hashes[i] = xxhash64(data.data() + start, length, first + i);
    }
  }
  return Checksums(hashes, {count}, owner);
}

}  // namespace

void bind_xxhash(nb::module_& m) {
  m.def("xxhash64", &hash, "data"_a, "seed"_a = 0, "XXH64 of a uint8 array.");
  m.def("xxhash64_blocks", &hash_blocks, "data"_a, "block_bytes"_a, "first"_a = 0,
        "XXH64 of each block of a uint8 array, as uint64; block i has the seed first + i.");
}

}  // namespace pq
