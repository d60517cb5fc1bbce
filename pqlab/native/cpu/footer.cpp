#include "bindings.hpp"

namespace pq {

void bind_footer(nanobind::module_&) {}

}  // namespace pq
