// Every loop of the shared headers, for a group of one: what NVRTC must compile.
#include "alp.cuh"
#include "byte_stream_split.cuh"
#include "convert.cuh"
#include "delta_byte_array.cuh"
#include "dictionary.cuh"
#include "event.cuh"
#include "levels.cuh"
#include "lz4.cuh"
#include "page_header.cuh"
#include "plain.cuh"
#include "snappy.cuh"
#include "xxhash.cuh"

using namespace pq;

extern "C" __global__ void runs(const u8* bytes, u64 size, u64 count, u8* out, StatusWord* words) {
  const SerialGroup group;
  auto* numbers = reinterpret_cast<u32*>(out);
  auto* wide = reinterpret_cast<u64*>(out);
  auto* levels = reinterpret_cast<Level*>(out);
  u64 used;
  ValueSink<u64> values{wide, 3};
  BitSink bits{out};
  words[0] = decode_dictionary(group, bytes, size, count, numbers, count, numbers);
  words[1] = decode_hybrid(group, HybridReader(bytes, size, 3), count, values);
  words[2] = decode_hybrid(group, HybridReader(bytes, size, 1), count, bits);
  words[3] = validity_from_rle(group, bytes, size, 3, count, out);
  words[4] = validity_from_bit_packed(group, bytes, size, 3, count, out);
  words[5] = levels_from_rle(group, bytes, size, 3, count, levels);
  words[6] = levels_from_bit_packed(group, bytes, size, 3, count, levels);
  words[7] = decode_deltas(group, bytes, size, count, numbers, used);
  words[8] = decode_deltas(group, bytes, size, count, wide, used);
  scatter_valid(group, bytes, count, wide, wide);
}

extern "C" __global__ void values(const u8* bytes, u64 size, u64 count, u8* out,
                                  StatusWord* words) {
  const SerialGroup group;
  auto* lengths = reinterpret_cast<u32*>(out);
  auto* views = reinterpret_cast<View*>(out);
  auto* decimals = reinterpret_cast<Int128*>(out);
  const ViewsOut<SerialGroup> text{group, bytes, true, {0, 0}, views};
  const DecimalsOut from_bytes{decimals};
  u64 total;
  words[0] = add_prefixes(group, lengths, lengths, count, size, 0, 0, total);
  join_prefixes(group, lengths, lengths, count, bytes, size, bytes, size, out, total);
  words[1] = walk_byte_arrays(group, bytes, size, count, Status::UTF8, text);
  words[2] = walk_lengths(group, lengths, bytes, size, count, Status::UTF8, text);
  words[3] = walk_byte_arrays(group, bytes, size, count, Status::RANGE, from_bytes);
  words[4] = plain_fixed_views(group, bytes, size, count, 9, {0, 0}, views);
  words[5] = plain_copy(group, bytes, size, count, 4, out);
  words[6] = plain_bits(group, bytes, size, count, out);
  words[7] =
      plain_convert(group, bytes, size, count, Int96Nanoseconds{}, reinterpret_cast<i64*>(out));
  words[8] = plain_convert(group, bytes, size, count, DecimalFixed{9}, decimals);
  words[9] = plain_convert(group, bytes, size, count, NarrowInteger<u8>{}, out);
  words[10] = decode_alp(group, bytes, size, count, reinterpret_cast<float*>(out));
  words[11] = decode_alp(group, bytes, size, count, reinterpret_cast<double*>(out));
  words[12] = join_byte_streams(group, bytes, size, count, 8, out);
}

extern "C" __global__ void blocks(const u8* bytes, u64 size, u64 count, u8* out,
                                  StatusWord* words) {
  const SerialGroup group;
  words[0] = snappy_decompress(group, bytes, size, out, count);
  words[1] = lz4_decompress(group, bytes, size, out, count);
  words[2] = lz4_raw_decompress(group, bytes, size, out, count);
}
