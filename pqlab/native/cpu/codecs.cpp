#include "codecs.hpp"

#include <nanobind/stl/string.h>

#include <array>

#include "bindings.hpp"
#include "leaf.hpp"
#include "libraries.hpp"
#include "loops.hpp"
#include "status.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

constexpr std::array<const char*, 8> NAMES = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                              "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};

[[noreturn]] void corrupt(i32 codec, const std::string& why) {
  throw Error(ErrorKind::Corrupt, codec_name(codec) + ": " + why);
}

void check_size(i32 codec, u64 given, u64 wanted) {
  if (given == wanted) return;
  const Status status = given < wanted ? Status::BLOCK_TOO_SHORT : Status::BLOCK_TOO_LONG;
  corrupt(codec, std::string(describe(status)) + " (" + std::to_string(given) + ", not " +
                     std::to_string(wanted) + ")");
}

}  // namespace

void check_block(i32 codec, StatusWord word) {
  if (word != STATUS_OK) corrupt(codec, error_of(word, "compressed byte").message);
}

namespace {

void cramjam(i32 codec, const char* module, const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  nb::gil_scoped_acquire gil;
  const auto view = [](const u8* bytes, u64 size, int flags) {
    char* start = reinterpret_cast<char*>(const_cast<u8*>(bytes));
    return nb::steal(PyMemoryView_FromMemory(start, static_cast<Py_ssize_t>(size), flags));
  };
  try {
    nb::object function = nb::module_::import_("cramjam").attr(module).attr("decompress_into");
    const auto given =
        nb::cast<u64>(function(view(src, src_size, PyBUF_READ), view(dst, dst_size, PyBUF_WRITE)));
    check_size(codec, given, dst_size);
  } catch (nb::python_error& error) {
    corrupt(codec, nb::cast<std::string>(nb::str(error.value())));
  }
}

}  // namespace

std::string codec_name(i32 codec) {
  return codec >= 0 && codec < static_cast<i32>(NAMES.size()) ? NAMES[static_cast<u32>(codec)]
                                                              : "codec " + std::to_string(codec);
}

Decompressor::Decompressor() : Decompressor(Libraries::shared()) {}

Decompressor::Decompressor(std::shared_ptr<const Libraries> libraries)
    : libraries_(std::move(libraries)) {}

Decompressor::~Decompressor() {
  if (zstd_context_ != nullptr) libraries_->zstd.free(zstd_context_);
  if (deflate_ != nullptr) libraries_->deflate.free(deflate_);
  if (gzip_stream_ != nullptr) {
    auto* stream = static_cast<InflateStream*>(gzip_stream_);
    libraries_->zlib.end(stream);
    delete stream;
  }
}

void Decompressor::zstd(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  constexpr auto CODEC = static_cast<i32>(Codec::ZSTD);
  const Zstd& library = libraries_->zstd;
  if (library.source.empty()) return cramjam(CODEC, "zstd", src, src_size, dst, dst_size);
  if (zstd_context_ == nullptr) zstd_context_ = library.create();
  if (zstd_context_ == nullptr) throw Error(ErrorKind::Limit, "no memory to decompress ZSTD");
  const std::size_t given = library.decompress(zstd_context_, dst, dst_size, src, src_size);
  if (library.is_error(given) != 0) corrupt(CODEC, library.error_name(given));
  check_size(CODEC, given, dst_size);
}

// A page may hold several gzip members, one after the other.
void Decompressor::gzip(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  constexpr auto CODEC = static_cast<i32>(Codec::GZIP);
  constexpr int OK = 0, NO_ROOM = 3;
  const Deflate& library = libraries_->deflate;
  if (library.source.empty()) return gzip_by_zlib(src, src_size, dst, dst_size);
  if (deflate_ == nullptr) deflate_ = library.create();
  if (deflate_ == nullptr) throw Error(ErrorKind::Limit, "no memory to decompress GZIP");
  u64 done = 0;
  do {
    const bool is_gzip = src_size >= 2 && src[0] == 0x1f && src[1] == 0x8b;
    std::size_t used = 0, given = 0;
    const int result = (is_gzip ? library.gzip : library.zlib)(deflate_, src, src_size, dst + done,
                                                               dst_size - done, &used, &given);
    if (result == NO_ROOM) check_size(CODEC, dst_size + 1, dst_size);
    if (result != OK) corrupt(CODEC, "the compressed bytes do not follow their format, or end");
    src += used, src_size -= used, done += given;
  } while (src_size != 0);
  check_size(CODEC, done, dst_size);
}

void Decompressor::gzip_by_zlib(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  constexpr auto CODEC = static_cast<i32>(Codec::GZIP);
  constexpr int GZIP_OR_ZLIB = 15 + 32, NO_FLUSH = 0, OK = 0, STREAM_END = 1, BUFFER_ERROR = -5;
  const Zlib& library = libraries_->zlib;
  if (library.source.empty()) return cramjam(CODEC, "gzip", src, src_size, dst, dst_size);
  auto* stream = static_cast<InflateStream*>(gzip_stream_);
  if (stream == nullptr) {
    auto fresh = std::make_unique<InflateStream>();
    *fresh = {};
    if (library.init(fresh.get(), GZIP_OR_ZLIB, library.version(), sizeof(InflateStream)) != OK) {
      throw Error(ErrorKind::Limit, "no memory to decompress GZIP");
    }
    gzip_stream_ = stream = fresh.release();
  } else {
    library.reset(stream);
  }
  u8 beyond;  // one byte more than the page should have: whether it is reached
  bool past_end = false;
  stream->next_in = src;
  stream->avail_in = static_cast<unsigned>(src_size);
  stream->next_out = dst;
  stream->avail_out = static_cast<unsigned>(dst_size);
  for (;;) {
    const int result = library.inflate(stream, NO_FLUSH);
    if (past_end && stream->avail_out == 0) check_size(CODEC, dst_size + 1, dst_size);
    if (result == STREAM_END) {
      if (stream->avail_in == 0) break;
      library.reset(stream);
    } else if (result != OK && result != BUFFER_ERROR) {
      corrupt(CODEC, stream->msg != nullptr ? stream->msg : "inflate failed");
    } else if (stream->avail_out == 0 && !past_end) {
      past_end = true;
      stream->next_out = &beyond;
      stream->avail_out = 1;
    } else if (stream->avail_in == 0 || result == BUFFER_ERROR) {
      corrupt(CODEC, "the compressed bytes end too soon");
    }
  }
  check_size(CODEC, past_end ? dst_size : dst_size - stream->avail_out, dst_size);
}

void Decompressor::brotli(const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  constexpr auto CODEC = static_cast<i32>(Codec::BROTLI);
  constexpr int SUCCESS = 1;
  const Brotli& library = libraries_->brotli;
  if (library.source.empty()) return cramjam(CODEC, "brotli", src, src_size, dst, dst_size);
  std::size_t given = dst_size;
  if (library.decompress(src_size, src, &given, dst) != SUCCESS) {
    corrupt(CODEC,
            "the compressed bytes do not follow their format, or give another size than the "
            "page header says");
  }
  check_size(CODEC, given, dst_size);
}

void Decompressor::decompress(i32 codec, const u8* src, u64 src_size, u8* dst, u64 dst_size) {
  switch (static_cast<Codec>(codec)) {
    case Codec::UNCOMPRESSED:
      check_size(codec, src_size, dst_size);
      copy_run(CpuThread{}, src, src_size, dst);
      return;
    case Codec::SNAPPY: return check_block(codec, loops().snappy(src, src_size, dst, dst_size));
    case Codec::LZ4: return check_block(codec, loops().lz4(src, src_size, dst, dst_size));
    case Codec::LZ4_RAW: return check_block(codec, loops().lz4_raw(src, src_size, dst, dst_size));
    case Codec::GZIP: return gzip(src, src_size, dst, dst_size);
    case Codec::ZSTD: return zstd(src, src_size, dst, dst_size);
    case Codec::BROTLI: return brotli(src, src_size, dst, dst_size);
    case Codec::LZO: break;
  }
  throw Error(ErrorKind::Unsupported, codec_name(codec) + " pages are not read");
}

namespace {

std::string source_name(const Library& library) {
  if (!library.source.empty()) return library.source;
  return "cramjam " + nb::cast<std::string>(nb::module_::import_("cramjam").attr("__version__"));
}

nb::dict codec_sources(const std::string& only) {
  const auto libraries = only.empty() ? Libraries::shared() : Libraries::load(only);
  nb::dict sources;
  sources["SNAPPY"] = "own";
  sources["LZ4"] = "own";
  sources["LZ4_RAW"] = "own";
  const bool has_deflate = !libraries->deflate.source.empty();
  sources["GZIP"] = has_deflate ? libraries->deflate.source : source_name(libraries->zlib);
  sources["ZSTD"] = source_name(libraries->zstd);
  sources["BROTLI"] = source_name(libraries->brotli);
  return sources;
}

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::bytes decompress(i32 codec, const Bytes& data, u64 size, const std::string& only) {
  nb::object result = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!result.is_valid()) throw nb::python_error();
  auto* out = reinterpret_cast<u8*>(PyBytes_AS_STRING(result.ptr()));
  {
    nb::gil_scoped_release release;
    Decompressor decompressor(only.empty() ? Libraries::shared() : Libraries::load(only));
    decompressor.decompress(codec, data.data(), data.size(), out, size);
  }
  return nb::borrow<nb::bytes>(result);
}

}  // namespace

void bind_codecs(nb::module_& m) {
  m.def("codec_name", &codec_name, nb::arg("codec"));
  m.def("codec_sources", &codec_sources, nb::arg("only") = "",
        "Codec -> where its decompressor comes from; `only`: as Libraries::load.");
  m.def("decompress", &decompress, nb::arg("codec"), nb::arg("data"), nb::arg("size"),
        nb::arg("only") = "", "Decompress a page's bytes to exactly `size` bytes.");
}

}  // namespace pq
