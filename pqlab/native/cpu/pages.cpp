#include "bindings.hpp"

namespace pq {

void bind_pages(nanobind::module_&) {}

}  // namespace pq
