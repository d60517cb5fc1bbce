// A whole column chunk, page headers and all, of any kind, shape and codec.
#include "chunk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  pq::Input in(data, size);
  const pq::Fuzzed fuzzed = pq::take_column(in);
  pq::read_in_all_forms(fuzzed, in.data(), in.size());
  return 0;
}
