// Where zstd, gzip and brotli come from. The functions are called by prototypes of our own, which
// are part of those libraries' stable interfaces: their headers need not be there.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "config.cuh"

namespace pq {

// zlib's z_stream.
struct InflateStream {
  const u8* next_in;
  unsigned int avail_in;
  unsigned long total_in;
  u8* next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char* msg;
  void* state;
  void* (*zalloc)(void*, unsigned int, unsigned int);
  void (*zfree)(void*, void*);
  void* opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
};

struct Library {
  std::string source;  // "linked 1.5.4", "libzstd.so.1 1.5.4"; empty: cramjam
};

struct Zstd : Library {
  void* (*create)();
  std::size_t (*free)(void*);
  std::size_t (*decompress)(void*, void*, std::size_t, const void*, std::size_t);
  unsigned (*is_error)(std::size_t);
  const char* (*error_name)(std::size_t);
  const char* (*version)();
};

struct Zlib : Library {
  int (*init)(InflateStream*, int window_bits, const char* version, int stream_size);
  int (*inflate)(InflateStream*, int flush);
  int (*reset)(InflateStream*);
  int (*end)(InflateStream*);
  const char* (*version)();
};

// libdeflate, which takes half of zlib's time: of gzip and of zlib's format.
struct Deflate : Library {
  using Decompress = int (*)(void*, const void*, std::size_t, void*, std::size_t, std::size_t* used,
                             std::size_t* given);
  void* (*create)();
  void (*free)(void*);
  Decompress gzip;
  Decompress zlib;
};

struct Brotli : Library {
  int (*decompress)(std::size_t, const u8*, std::size_t*, u8*);
  unsigned (*version)();
};

struct Libraries {
  Zstd zstd{};
  Deflate deflate{};  // where it is there, zlib is not called
  Zlib zlib{};
  Brotli brotli{};

  // `only`: "linked", "system" or "cramjam"; empty: the first of them that is there; "zlib": the
  // same, but without libdeflate.
  static std::shared_ptr<const Libraries> load(const std::string& only);
  // Loaded once; the environment variable PQLAB_CODECS is `only`.
  static std::shared_ptr<const Libraries> shared();
};

}  // namespace pq
