#include <memory>

#include "bindings.hpp"
#include "memory.hpp"

namespace nb = nanobind;

namespace pq {

void bind_memory(nb::module_& m) {
  m.def(
      "padded_empty",
      [](u64 size) {
        auto owner = std::make_unique<Buffer>(size);
        u8* const data = owner->data();
        const nb::capsule capsule(owner.release(),
                                  [](void* p) noexcept { delete static_cast<Buffer*>(p); });
        return nb::ndarray<nb::numpy, u8, nb::ndim<1>>(data, {size}, capsule);
      },
      nb::arg("size"), "An uninitialised array, with 64 zero bytes readable after it.");
  m.def(
      "memory_use",
      [] {
        const MemoryUse use = memory_use();
        return nb::make_tuple(use.in_use_bytes, use.kept_bytes, use.high_water_bytes,
                              use.limit_bytes, use.allocations, use.reuses);
      },
      "The fields of pqlab.native.memory.Memory.");
  m.def("limit_memory", &limit_memory, nb::arg("kept_bytes"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("release_memory", &release_memory, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace pq
