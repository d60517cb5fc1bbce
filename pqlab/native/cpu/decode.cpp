#include "bindings.hpp"

namespace pq {

void bind_decode(nanobind::module_&) {}

}  // namespace pq
