// The shared headers' functions one by one, for tests that hold them against a slow oracle and the
// portable leaf primitives against those of a CPU thread.
#include <cstring>

#include "alp.cuh"
#include "bindings.hpp"
#include "bitmap.hpp"
#include "delta_byte_array.cuh"
#include "dictionary.cuh"
#include "levels.cuh"
#include "memory.hpp"
#include "status.hpp"
#include "utf8.cuh"
#include "values.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check(StatusWord word) {
  if (word != STATUS_OK) throw error_of(word, "value");
}

nb::bytes to_bytes(const Buffer& buffer) { return nb::bytes(buffer.data(), buffer.size()); }

// Calls use(group) with the group that has the primitives asked for.
template <class Use>
auto with_group(bool portable, Use&& use) {
  return portable ? use(SerialGroup{}) : use(CpuThread{});
}

nb::bytes unpack(const Bytes& data, u32 width, u64 count, bool portable) {
  Buffer out(count * sizeof(u64));
  with_group(portable, [&](auto group) {
    unpack_run(group, data.data(), data.size(), width, count, reinterpret_cast<u64*>(out.data()));
  });
  return to_bytes(out);
}

nb::bytes hybrid(const Bytes& data, u32 width, u64 count, bool portable) {
  Buffer out(count * sizeof(u32));
  ValueSink<u32> sink{reinterpret_cast<u32*>(out.data()), width};
  check(with_group(portable, [&](auto group) {
    return decode_hybrid(group, HybridReader(data.data(), data.size(), width), count, sink);
  }));
  return to_bytes(out);
}

nb::bytes indices(const Bytes& data, u64 count, const Bytes& dictionary, bool portable) {
  Buffer out(count);
  check(with_group(portable, [&](auto group) {
    return decode_dictionary(group, data.data(), data.size(), count, dictionary.data(),
                             dictionary.size(), out.data());
  }));
  return to_bytes(out);
}

// Calls use(T{}) with the unsigned integer of 4 or 8 bytes.
template <class Use>
auto with_width(u32 width, Use&& use) {
  return width == sizeof(u32) ? use(u32{}) : use(u64{});
}

nb::tuple deltas(const Bytes& data, u32 width, u64 count, bool portable) {
  Buffer out(count * width);
  u64 used = 0;
  check(with_group(portable, [&](auto group) {
    return with_width(width, [&](auto example) {
      auto* values = reinterpret_cast<decltype(example)*>(out.data());
      return decode_deltas(group, data.data(), data.size(), count, values, used);
    });
  }));
  return nb::make_tuple(to_bytes(out), used);
}

// Values of DELTA_BYTE_ARRAY, back to back.
nb::bytes prefixed(const Bytes& prefixes, const Bytes& suffix_lengths, const Bytes& suffixes,
                   const Bytes& before, u32 width, bool portable) {
  const u64 count = prefixes.size() / sizeof(u32);
  Buffer lengths(suffix_lengths.size());
  copy_run(CpuThread{}, suffix_lengths.data(), suffix_lengths.size(), lengths.data());
  const auto* takes = reinterpret_cast<const u32*>(prefixes.data());
  auto* sizes = reinterpret_cast<u32*>(lengths.data());
  return with_group(portable, [&](auto group) {
    u64 total;
    check(add_prefixes(group, takes, sizes, count, suffixes.size(), before.size(), width, total));
    Buffer out(total);
    join_prefixes(group, takes, sizes, count, suffixes.data(), suffixes.size(), before.data(),
                  before.size(), out.data(), total);
    return to_bytes(out);
  });
}

nb::bytes alp(const Bytes& data, u32 width, u64 count, bool portable) {
  Buffer out(count * width);
  check(with_group(portable, [&](auto group) {
    return width == sizeof(float) ? decode_alp(group, data.data(), data.size(), count,
                                               reinterpret_cast<float*>(out.data()))
                                  : decode_alp(group, data.data(), data.size(), count,
                                               reinterpret_cast<double*>(out.data()));
  }));
  return to_bytes(out);
}

nb::bytes validity(const Bytes& data, u32 max_level, u64 count, bool bit_packed, bool portable) {
  Buffer out((count + 7) / 8, true);
  check(with_group(portable, [&](auto group) {
    return bit_packed
               ? validity_from_bit_packed(group, data.data(), data.size(), max_level, count,
                                          out.data())
               : validity_from_rle(group, data.data(), data.size(), max_level, count, out.data());
  }));
  return to_bytes(out);
}

nb::bytes scattered(const Bytes& bits, u64 count, const Bytes& dense, bool portable) {
  Buffer out(count);
  with_group(portable, [&](auto group) {
    scatter_valid(group, bits.data(), count, dense.data(), out.data());
  });
  return to_bytes(out);
}

// Bits of several bitmaps, one after the other, in one.
nb::bytes merged(const nb::list& parts, u64 total) {
  Buffer out((total + 7) / 8, true);
  u64 at = 0;
  for (nb::handle item : parts) {
    const auto part = nb::cast<nb::tuple>(item);
    const auto bits = nb::cast<Bytes>(part[0]);
    const auto start = nb::cast<u64>(part[1]), count = nb::cast<u64>(part[2]);
    merge_bits(bits.data(), start, count, out.data(), at);
    at += count;
  }
  return to_bytes(out);
}

}  // namespace

void bind_primitives(nb::module_& m) {
  nb::module_ p = m.def_submodule("primitives", "Functions of the shared headers, for tests.");
  p.def("unpack", &unpack, "u64 values of `width` bits each.");
  p.def("hybrid", &hybrid, "u32 values of the RLE/bit-packed hybrid.");
  p.def("indices", &indices, "Entries (a byte each) that a dictionary page's bytes name.");
  p.def("deltas", &deltas, "Integers of `width` bytes, and the bytes that their deltas take.");
  p.def("prefixed", &prefixed, "Values of DELTA_BYTE_ARRAY, back to back.");
  p.def("alp", &alp, "Floating-point values of `width` bytes.");
  p.def("validity", &validity, "Validity bits from definition levels.");
  p.def("scattered", &scattered, "Bytes to where the bits are set.");
  p.def("merged", &merged);
  p.def("utf8_valid_up_to",
        [](const Bytes& data) { return utf8_valid_up_to(data.data(), data.size(), data.size()); });
}

}  // namespace pq
