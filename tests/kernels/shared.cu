// The decode functions that both engines share, each by one warp a page.
#include "alp.cuh"
#include "byte_stream_split.cuh"
#include "delta_byte_array.cuh"
#include "dictionary.cuh"
#include "groups.cuh"
#include "levels.cuh"
#include "lz4.cuh"
#include "plain.cuh"
#include "snappy.cuh"
#include "strings.cuh"

using namespace pq;

namespace {

__device__ void finish(StatusWord word, u64* status) {
  if (Warp::leader()) *status = word;
}

}  // namespace

extern "C" {

__global__ void validity(const u8* bytes, u64 size, u32 max_level, u64 count, u8* out,
                         u64* status) {
  finish(validity_from_rle(Warp{}, bytes, size, max_level, count, out), status);
}
__global__ void bit_packed(const u8* bytes, u64 size, u32 max_level, u64 count, u8* out,
                           u64* status) {
  finish(validity_from_bit_packed(Warp{}, bytes, size, max_level, count, out), status);
}
__global__ void levels(const u8* bytes, u64 size, u32 max_level, u64 count, u16* out, u64* status) {
  finish(levels_from_rle(Warp{}, bytes, size, max_level, count, out), status);
}
__global__ void hybrid(const u8* bytes, u64 size, u32 width, u64 count, u32* out, u64* status) {
  ValueSink<u32> sink{out, width};
  finish(decode_hybrid(Warp{}, HybridReader(bytes, size, width), count, sink), status);
}
__global__ void dictionary(const u8* bytes, u64 size, u64 count, const u64* entries,
                           u64 num_entries, u64* out, u64* status) {
  finish(decode_dictionary(Warp{}, bytes, size, count, entries, num_entries, out), status);
}
__global__ void scatter(const u8* bits, u64 count, const u32* dense, u32* out, u64* status) {
  scatter_valid(Warp{}, bits, count, dense, out);
  finish(STATUS_OK, status);
}
__global__ void deltas_32(const u8* bytes, u64 size, u64 count, u32* out, u64* status) {
  u64 used;
  finish(decode_deltas(Warp{}, bytes, size, count, out, used), status);
}
__global__ void deltas_64(const u8* bytes, u64 size, u64 count, u64* out, u64* status) {
  u64 used;
  finish(decode_deltas(Warp{}, bytes, size, count, out, used), status);
}
__global__ void byte_streams(const u8* bytes, u64 size, u64 count, u32 width, u8* out,
                             u64* status) {
  finish(join_byte_streams(Warp{}, bytes, size, count, width, out), status);
}
__global__ void alp(const u8* bytes, u64 size, u64 count, double* out, u64* status) {
  finish(decode_alp(Warp{}, bytes, size, count, out), status);
}
__global__ void strings(const u8* bytes, u64 size, u64 count, View* out, u64* status) {
  ViewsOut<Warp> use{Warp{}, bytes, true, {7, 0}, out};
  finish(walk_byte_arrays(Warp{}, bytes, size, count, Status::UTF8, use), status);
}
__global__ void string_places(const u8* bytes, u64 size, u64 count, StringRecord* out,
                              u64* status) {
  PQ_SHARED(StringWindow, window, 1);
  finish(list_strings(bytes, size, count, out, window[0]), status);
}
__global__ void snappy(const u8* bytes, u64 size, u64 count, u8* out, u64* status) {
  finish(snappy_decompress(Warp{}, bytes, size, out, count), status);
}
__global__ void lz4(const u8* bytes, u64 size, u64 count, u8* out, u64* status) {
  finish(lz4_raw_decompress(Warp{}, bytes, size, out, count), status);
}

}  // extern "C"

PQ_EXPORT(validity)
PQ_EXPORT(bit_packed)
PQ_EXPORT(levels)
PQ_EXPORT(hybrid)
PQ_EXPORT(dictionary)
PQ_EXPORT(scatter)
PQ_EXPORT(deltas_32)
PQ_EXPORT(deltas_64)
PQ_EXPORT(byte_streams)
PQ_EXPORT(alp)
PQ_EXPORT(strings)
PQ_EXPORT(string_places)
PQ_EXPORT(snappy)
PQ_EXPORT(lz4)
