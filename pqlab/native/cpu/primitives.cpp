// The decoding loops one by one, for tests that hold those of each instruction set against a slow
// oracle and against each other.
#include <nanobind/stl/string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "bindings.hpp"
#include "bitmap.hpp"
#include "loops.hpp"
#include "status.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Zeroed memory that ends where none can be touched: what reads or writes beyond it ends the
// process.
class Guarded {
 public:
  explicit Guarded(u64 size) : size_(size) {
    const u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
    const u64 whole = (size + page - 1) / page * page;
    mapped_ = whole + page;
    base_ = static_cast<u8*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + whole, page, PROT_NONE) != 0) {
      throw Error(ErrorKind::Limit, "no memory for a test");
    }
    data_ = base_ + whole - size;
  }
  explicit Guarded(const Bytes& data) : Guarded(data.size()) {
    if (size_ != 0) std::memcpy(data_, data.data(), size_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }

  u8* data() const { return data_; }
  u64 size() const { return size_; }

 private:
  u8* base_ = nullptr;
  u8* data_ = nullptr;
  u64 size_;
  u64 mapped_ = 0;
};

void check(StatusWord word) {
  if (word != STATUS_OK) throw error_of(word, "value");
}

nb::bytes to_bytes(const Guarded& buffer) { return nb::bytes(buffer.data(), buffer.size()); }

template <class T>
T* as(const Guarded& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

const Loops& of(const std::string& form) {
  const Loops* found = loops_of(form);
  if (found == nullptr) throw Error(ErrorKind::Unsupported, form + " does not run here");
  return *found;
}

nb::bytes unpack(const Bytes& data_, u32 width, u64 count, const std::string& form) {
  const Guarded data(data_);
  Guarded out(count * sizeof(u64));
  of(form).unpack(data.data(), data.size(), width, count, as<u64>(out));
  return to_bytes(out);
}

nb::bytes hybrid(const Bytes& data_, u32 width, u64 count, const std::string& form) {
  const Guarded data(data_);
  Guarded out(count * sizeof(u32));
  check(of(form).decode_hybrid(data.data(), data.size(), width, count, as<u32>(out)));
  return to_bytes(out);
}

nb::bytes indices(const Bytes& data_, u64 count, const Bytes& dictionary_, u32 width,
                  const std::string& form) {
  const Guarded data(data_);
  const Guarded dictionary(dictionary_);
  Guarded out(count * width);
  check(of(form).decode_indices({Kind::FIXED, width}, data.data(), data.size(), count,
                                dictionary.data(), dictionary.size() / width, out.data()));
  return to_bytes(out);
}

nb::tuple deltas(const Bytes& data_, u32 width, u64 count, const std::string& form) {
  const Guarded data(data_);
  Guarded out(count * width);
  u64 used = 0;
  check(of(form).sum_deltas(width, data.data(), data.size(), count, out.data(), used));
  return nb::make_tuple(to_bytes(out), used);
}

// Values of DELTA_BYTE_ARRAY, back to back.
nb::bytes prefixed(const Bytes& prefixes_, const Bytes& suffix_lengths_, const Bytes& suffixes_,
                   const Bytes& before_, u32 width, const std::string& form) {
  const Guarded prefixes(prefixes_);
  const Guarded suffix_lengths(suffix_lengths_);
  const Guarded suffixes(suffixes_);
  const Guarded before(before_);
  const Loops& table = of(form);
  const u64 count = prefixes.size() / sizeof(u32);
  Guarded lengths(suffix_lengths.size());
  copy_run(CpuThread{}, suffix_lengths.data(), suffix_lengths.size(), lengths.data());
  const auto* takes = reinterpret_cast<const u32*>(prefixes.data());
  u64 total;
  check(table.add_prefixes(takes, as<u32>(lengths), count, suffixes.size(), before.size(), width,
                           total));
  Guarded out(total);
  table.join_prefixes(takes, as<u32>(lengths), count, suffixes.data(), suffixes.size(),
                      before.data(), before.size(), out.data(), total);
  return to_bytes(out);
}

nb::bytes alp(const Bytes& data_, u32 width, u64 count, const std::string& form) {
  const Guarded data(data_);
  Guarded out(count * width);
  check(of(form).scale_alp({Kind::FLOATING, width}, data.data(), data.size(), count, out.data()));
  return to_bytes(out);
}

nb::bytes validity(const Bytes& data_, u32 max_level, u64 count, bool bit_packed,
                   const std::string& form) {
  const Guarded data(data_);
  const Loops& table = of(form);
  Guarded out((count + 7) / 8);
  check((bit_packed ? table.validity_from_bit_packed : table.validity_from_rle)(
      data.data(), data.size(), max_level, count, out.data()));
  return to_bytes(out);
}

nb::bytes levels(const Bytes& data_, u32 max_level, u64 count, bool bit_packed,
                 const std::string& form) {
  const Guarded data(data_);
  const Loops& table = of(form);
  Guarded out(count * sizeof(Level));
  check((bit_packed ? table.levels_from_bit_packed : table.levels_from_rle)(
      data.data(), data.size(), max_level, count, as<Level>(out)));
  return to_bytes(out);
}

nb::bytes scattered(const Bytes& bits_, u64 count, const Bytes& dense_, u32 width,
                    const std::string& form) {
  const Guarded bits(bits_);
  const Guarded dense(dense_);
  const ValueType type = width == 0 ? ValueType{Kind::BITS, 0} : ValueType{Kind::FIXED, width};
  Guarded out(width == 0 ? (count + 7) / 8 : count * width);
  of(form).scatter(type, bits.data(), count, dense.data(), out.data());
  return to_bytes(out);
}

nb::bytes plain(const std::string& kind, u32 width, const Bytes& data_, u64 count,
                const std::string& form) {
  const Guarded data(data_);
  const ValueType type = value_type(kind, width);
  const bool bits = type.kind == Kind::BITS;
  Guarded out(bits ? (count + 7) / 8 : count * type.stride());
  check(of(form).decode_plain(type, data.data(), data.size(), count, {7, 1000}, out.data()));
  return to_bytes(out);
}

nb::bytes joined_streams(const Bytes& data_, u32 width, u64 count, const std::string& form) {
  const Guarded data(data_);
  Guarded out(count * width);
  check(of(form).join_streams({Kind::FIXED, width}, data.data(), data.size(), count, out.data()));
  return to_bytes(out);
}

nb::bytes reaching(const Bytes& levels_, u32 level, const std::string& form) {
  const Guarded levels(levels_);
  const u64 count = levels.size() / sizeof(Level);
  Guarded bits((count + 63) / 64 * sizeof(u64));
  of(form).reaching(as<Level>(levels), count, level, as<u64>(bits));
  return to_bytes(bits);
}

nb::tuple gathered_slots(const Bytes& begins_, const Bytes& bits_, const std::string& form) {
  const Guarded begins(begins_), bits(bits_);
  const u64 count = begins.size() / sizeof(u64);
  const u64 slots = of(form).count_bits(as<u64>(begins), count);
  Guarded out((slots + 63) / 64 * sizeof(u64));
  const u64 set = of(form).gather_slots(as<u64>(begins), as<u64>(bits), count, as<u64>(out));
  return nb::make_tuple(to_bytes(out), slots, set);
}

nb::bytes list_offsets(const Bytes& lists_, const Bytes& elements_, i64 first,
                       const std::string& form) {
  const Guarded lists(lists_), elements(elements_);
  const u64 count = lists.size() / sizeof(u64);
  Guarded out(of(form).count_bits(as<u64>(lists), count) * sizeof(i64));
  of(form).list_offsets(as<u64>(lists), as<u64>(elements), count, first, as<i64>(out));
  return to_bytes(out);
}

// The block's bytes and 64 more behind them, which were 0xa5 and must still be.
nb::bytes snappy(const Bytes& block_, u64 size, const std::string& form) {
  const Guarded block(block_);
  Guarded out(size + 64);
  std::memset(out.data(), 0xa5, out.size());
  check(of(form).snappy(block.data(), block.size(), out.data(), size));
  return to_bytes(out);
}

// The same of two blocks at once; None for one that is wrong.
nb::tuple snappy_two(const Bytes& first_, u64 first_size, const Bytes& second_, u64 second_size,
                     const std::string& form) {
  const Guarded first(first_), second(second_);
  Guarded outs[2] = {Guarded(first_size + 64), Guarded(second_size + 64)};
  for (const Guarded& out : outs) std::memset(out.data(), 0xa5, out.size());
  StatusWord words[2];
  of(form).snappy_two({{first.data(), first.size(), outs[0].data(), first_size},
                       {second.data(), second.size(), outs[1].data(), second_size}},
                      words);
  const auto result = [&](u32 i) -> nb::object {
    return words[i] == STATUS_OK ? nb::object(to_bytes(outs[i])) : nb::none();
  };
  return nb::make_tuple(result(0), result(1));
}

// Bits of several bitmaps, one after the other, in one.
nb::bytes merged(const nb::list& parts, u64 total) {
  Guarded out((total + 7) / 8);
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
  nb::module_ p = m.def_submodule("primitives", "The decoding loops, for tests.");
  p.def("unpack", &unpack, "u64 values of `width` bits each.");
  p.def("hybrid", &hybrid, "u32 values of the RLE/bit-packed hybrid.");
  p.def("indices", &indices, "Entries of `width` bytes that a dictionary page's bytes name.");
  p.def("deltas", &deltas, "Integers of `width` bytes, and the bytes that their deltas take.");
  p.def("prefixed", &prefixed, "Values of DELTA_BYTE_ARRAY, back to back.");
  p.def("alp", &alp, "Floating-point values of `width` bytes.");
  p.def("validity", &validity, "Validity bits from definition levels.");
  p.def("levels", &levels, "u16 levels.");
  p.def("scattered", &scattered,
        "Values of `width` bytes, or bits (0), to where the bits are set; 0 between them.");
  p.def("plain", &plain, "PLAIN values; views are of buffer 7, from offset 1000 on.");
  p.def("joined_streams", &joined_streams, "BYTE_STREAM_SPLIT values of `width` bytes.");
  p.def("reaching", &reaching, "A bit per u16 level, in words of 64: whether it is that high.");
  p.def("gathered_slots", &gathered_slots,
        "Bits of the entries that begin a slot, how many slots there are, and how many are set.");
  p.def("list_offsets", &list_offsets, "i64: `first`, and the elements before each list.");
  p.def("snappy_two", &snappy_two, "As snappy, of two blocks; None for one that is wrong.");
  p.def("snappy", &snappy, "A Snappy block of so many bytes, and 64 bytes of 0xa5.");
  p.def("merged", &merged);
  p.def("utf8_valid_up_to", [](const Bytes& bytes, const std::string& form) {
    const Guarded data(bytes);
    return of(form).utf8_valid_up_to(data.data(), data.size(), data.size());
  });
}

}  // namespace pq
