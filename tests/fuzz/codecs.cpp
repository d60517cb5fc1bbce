// A compressed block; Snappy and LZ4, which are our own, by the loops of every instruction set.
#include "codecs.hpp"

#include "input.hpp"
#include "loops.hpp"

namespace pq {
namespace {

constexpr const char* FORMS[] = {"serial", "portable", "avx2", "avx512"};

using Block = StatusWord (*)(const u8*, u64, u8*, u64);

void same_in_all_forms(Block BlockLoops::* loop, const u8* src, u64 src_size, u64 size) {
  std::string first;
  for (const char* form : FORMS) {
    const Loops* loops = loops_of(form);
    if (loops == nullptr) continue;
    const std::unique_ptr<u8[]> out(new u8[size]());
    const StatusWord status = (loops->*loop)(src, src_size, out.get(), size);
    std::string got = std::to_string(status == STATUS_OK);
    if (status == STATUS_OK) got.append(reinterpret_cast<char*>(out.get()), size);
    if (first.empty()) first = got;
    require(got == first, std::string("another block by the loops for ") + form);
  }
}

}  // namespace
}  // namespace pq

extern "C" int LLVMFuzzerTestOneInput(const pq::u8* data, size_t size) {
  pq::Input in(data, size);
  const pq::i32 codec = in.take<pq::u8>() % 8;
  const pq::u64 out_size = in.take<pq::u16>();
  const auto src = pq::padded(in.data(), in.size(), 0);
  static pq::Decompressor decompressor;
  pq::outcome([&] {
    const std::unique_ptr<pq::u8[]> out(new pq::u8[out_size]);
    decompressor.decompress(codec, src.get(), in.size(), out.get(), out_size);
    return std::string();
  });
  switch (static_cast<pq::Codec>(codec)) {
    case pq::Codec::SNAPPY:
      pq::same_in_all_forms(&pq::BlockLoops::snappy, src.get(), in.size(), out_size);
      break;
    case pq::Codec::LZ4:
      pq::same_in_all_forms(&pq::BlockLoops::lz4, src.get(), in.size(), out_size);
      break;
    case pq::Codec::LZ4_RAW:
      pq::same_in_all_forms(&pq::BlockLoops::lz4_raw, src.get(), in.size(), out_size);
      break;
    default: break;
  }
  return 0;
}
