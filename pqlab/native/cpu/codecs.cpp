#include "bindings.hpp"

namespace pq {

void bind_codecs(nanobind::module_&) {}

}  // namespace pq
