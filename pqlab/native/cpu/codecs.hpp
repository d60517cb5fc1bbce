// Compression codecs: one call from compressed bytes to exactly the size that the page header says.
// Snappy and LZ4 are our own; zstd, gzip and brotli come from the first of: the library that the
// build linked, the system's shared library, cramjam (a Python package, called with the GIL held).
#pragma once
#include <memory>
#include <string>

#include "status.cuh"

namespace pq {

// As numbered in parquet.thrift.
enum class Codec : i8 {
  UNCOMPRESSED = 0,
  SNAPPY = 1,
  GZIP = 2,
  LZO = 3,
  BROTLI = 4,
  LZ4 = 5,
  ZSTD = 6,
  LZ4_RAW = 7,
};

std::string codec_name(i32 codec);  // "codec 200" for one that the format does not have

// What is wrong with a block that a device decompressed. Throws it as Decompressor does.
void check_block(i32 codec, StatusWord word);

struct Libraries;

// State of the decompressors: one per thread.
class Decompressor {
 public:
  Decompressor();
  explicit Decompressor(std::shared_ptr<const Libraries> libraries);
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor();

  // Throws Corrupt for bytes that do not follow the format or give another size, Unsupported for
  // codecs that are not read.
  void decompress(i32 codec, const u8* src, u64 src_size, u8* dst, u64 dst_size);

 private:
  void zstd(const u8* src, u64 src_size, u8* dst, u64 dst_size);
  void gzip(const u8* src, u64 src_size, u8* dst, u64 dst_size);
  void gzip_by_zlib(const u8* src, u64 src_size, u8* dst, u64 dst_size);
  void brotli(const u8* src, u64 src_size, u8* dst, u64 dst_size);

  std::shared_ptr<const Libraries> libraries_;
  void* zstd_context_ = nullptr;
  void* deflate_ = nullptr;
  void* gzip_stream_ = nullptr;
};

}  // namespace pq
