// Without check mode: memory is as the machine gives it.
#include "runtime.hpp"

namespace pq::emulator {

void region_added(Region&, bool) {}
void region_removed(Region&) {}
void region_written(const Region&, const u8*, u64) {}
void block_begins() {}
void shared_taken(u64, u64) {}
void check_atomic(const void*, u32, const void*) {}

}  // namespace pq::emulator
