// Maps pqlab's own cache files. (User files are never mapped: they may shrink under the reader.)
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "bindings.hpp"
#include "error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pq {
namespace {

struct Mapping {
  void* address;
  size_t size;
};

// The mapping outlives `fd` and keeps none open: thousands of cached footers would use up the
// process's descriptors.
nb::ndarray<const u8, nb::numpy, nb::ndim<1>> map_file(int fd, size_t size) {
  void* address = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::Source, std::string("cannot map the file: ") + std::strerror(errno));
  }
  nb::capsule owner(new Mapping{address, size}, [](void* p) noexcept {
    Mapping* mapping = static_cast<Mapping*>(p);
    if (mapping->size) munmap(mapping->address, mapping->size);
    delete mapping;
  });
  return nb::ndarray<const u8, nb::numpy, nb::ndim<1>>(address, {size}, owner);
}

}  // namespace

void bind_mapping(nb::module_& m) {
  m.def("map_file", &map_file, "fd"_a, "size"_a,
        "The first `size` bytes of an open file as a read-only uint8 array, by mmap.");
}

}  // namespace pq
