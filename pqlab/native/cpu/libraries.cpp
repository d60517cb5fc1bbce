#include "libraries.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "error.hpp"

// Prototypes of what the build linked (CMakeLists.txt defines PQLAB_LINKED_*).
extern "C" {
#ifdef PQLAB_LINKED_ZSTD
void* ZSTD_createDCtx();
std::size_t ZSTD_freeDCtx(void*);
std::size_t ZSTD_decompressDCtx(void*, void*, std::size_t, const void*, std::size_t);
unsigned ZSTD_isError(std::size_t);
const char* ZSTD_getErrorName(std::size_t);
const char* ZSTD_versionString();
#endif
#ifdef PQLAB_LINKED_DEFLATE
void* libdeflate_alloc_decompressor();
void libdeflate_free_decompressor(void*);
int libdeflate_gzip_decompress_ex(void*, const void*, std::size_t, void*, std::size_t, std::size_t*,
                                  std::size_t*);
int libdeflate_zlib_decompress_ex(void*, const void*, std::size_t, void*, std::size_t, std::size_t*,
                                  std::size_t*);
#endif
#ifdef PQLAB_LINKED_ZLIB
int inflateInit2_(pq::InflateStream*, int, const char*, int);
int inflate(pq::InflateStream*, int);
int inflateReset(pq::InflateStream*);
int inflateEnd(pq::InflateStream*);
const char* zlibVersion();
#endif
#ifdef PQLAB_LINKED_BROTLI
int BrotliDecoderDecompress(std::size_t, const pq::u8*, std::size_t*, pq::u8*);
unsigned BrotliDecoderVersion();
#endif
}

namespace pq {
namespace {

std::string version_of(const Zstd& library) { return library.version(); }
std::string version_of(const Deflate&) { return ""; }  // it does not tell
std::string version_of(const Zlib& library) { return library.version(); }
std::string version_of(const Brotli& library) {
  const unsigned version = library.version();
  return std::to_string(version >> 24) + "." + std::to_string(version >> 12 & 0xfff) + "." +
         std::to_string(version & 0xfff);
}

bool link(Zstd& library) {
#ifdef PQLAB_LINKED_ZSTD
  library.create = ZSTD_createDCtx;
  library.free = ZSTD_freeDCtx;
  library.decompress = ZSTD_decompressDCtx;
  library.is_error = ZSTD_isError;
  library.error_name = ZSTD_getErrorName;
  library.version = ZSTD_versionString;
  return true;
#else
  (void)library;
  return false;
#endif
}

bool link(Deflate& library) {
#ifdef PQLAB_LINKED_DEFLATE
  library.create = libdeflate_alloc_decompressor;
  library.free = libdeflate_free_decompressor;
  library.gzip = libdeflate_gzip_decompress_ex;
  library.zlib = libdeflate_zlib_decompress_ex;
  return true;
#else
  (void)library;
  return false;
#endif
}

bool link(Zlib& library) {
#ifdef PQLAB_LINKED_ZLIB
  library.init = inflateInit2_;
  library.inflate = inflate;
  library.reset = inflateReset;
  library.end = inflateEnd;
  library.version = zlibVersion;
  return true;
#else
  (void)library;
  return false;
#endif
}

bool link(Brotli& library) {
#ifdef PQLAB_LINKED_BROTLI
  library.decompress = BrotliDecoderDecompress;
  library.version = BrotliDecoderVersion;
  return true;
#else
  (void)library;
  return false;
#endif
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

constexpr const char* file_of(const Zstd&) { return "libzstd.so.1"; }
constexpr const char* file_of(const Deflate&) { return "libdeflate.so.0"; }
constexpr const char* file_of(const Zlib&) { return "libz.so.1"; }
constexpr const char* file_of(const Brotli&) { return "libbrotlidec.so.1"; }

bool find_all(void* handle, Zstd& library) {
  return find(handle, "ZSTD_createDCtx", library.create) &&
         find(handle, "ZSTD_freeDCtx", library.free) &&
         find(handle, "ZSTD_decompressDCtx", library.decompress) &&
         find(handle, "ZSTD_isError", library.is_error) &&
         find(handle, "ZSTD_getErrorName", library.error_name) &&
         find(handle, "ZSTD_versionString", library.version);
}
bool find_all(void* handle, Deflate& library) {
  return find(handle, "libdeflate_alloc_decompressor", library.create) &&
         find(handle, "libdeflate_free_decompressor", library.free) &&
         find(handle, "libdeflate_gzip_decompress_ex", library.gzip) &&
         find(handle, "libdeflate_zlib_decompress_ex", library.zlib);
}
bool find_all(void* handle, Zlib& library) {
  return find(handle, "inflateInit2_", library.init) && find(handle, "inflate", library.inflate) &&
         find(handle, "inflateReset", library.reset) && find(handle, "inflateEnd", library.end) &&
         find(handle, "zlibVersion", library.version);
}
bool find_all(void* handle, Brotli& library) {
  return find(handle, "BrotliDecoderDecompress", library.decompress) &&
         find(handle, "BrotliDecoderVersion", library.version);
}

// Whether the library is there; what was opened stays open until the process ends.
template <class L>
bool find_library(L& library, const std::string& only) {
  if ((only.empty() || only == "linked") && link(library)) {
    const std::string version = version_of(library);
    library.source = "linked " + (version.empty() ? file_of(library) : version);
    return true;
  }
  if (only.empty() || only == "system") {
    void* handle = dlopen(file_of(library), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr && find_all(handle, library)) {
      const std::string version = version_of(library);
      library.source = file_of(library) + (version.empty() ? "" : " " + version);
      return true;
    }
  }
  return false;
}

template <class L>
void load_library(L& library, const std::string& only) {
  if (find_library(library, only) || only.empty() || only == "cramjam") return;
  throw Error(ErrorKind::Source, "no " + only + " library for " + file_of(library));
}

}  // namespace

std::shared_ptr<const Libraries> Libraries::load(const std::string& only) {
  auto libraries = std::make_shared<Libraries>();
  const std::string from = only == "zlib" ? "" : only;
  load_library(libraries->zstd, from);
  const bool has_deflate = only != "zlib" && find_library(libraries->deflate, from);
  if (!has_deflate) load_library(libraries->zlib, from);
  load_library(libraries->brotli, from);
  return libraries;
}

std::shared_ptr<const Libraries> Libraries::shared() {
  static const std::shared_ptr<const Libraries> libraries = [] {
    const char* only = std::getenv("PQLAB_CODECS");
    return load(only == nullptr ? "" : only);
  }();
  return libraries;
}

}  // namespace pq
