// A Group is what works on one page together: `size()` members, each with its `rank()`. Control
// logic (run headers, bounds, errors) is the same in every member; the leaf primitives of leaf.cuh
// share the values out. A warp is a Group of 32; a CPU thread is a Group of one.
#pragma once
#include "config.cuh"

namespace pq {

struct SerialGroup {
  PQ_HD static constexpr u32 size() { return 1; }
  PQ_HD static constexpr u32 rank() { return 0; }
  PQ_HD static constexpr bool leader() { return true; }
  PQ_HD static void sync() {}
  // The value of member `rank`, in every member.
  template <class T>
  PQ_HD static T shuffle(T value, u32) {
    return value;
  }
  // Whether the predicate holds in any member.
  PQ_HD static bool any(bool predicate) { return predicate; }
  // The least value of all members.
  PQ_HD static u64 least(u64 value) { return value; }
  // The sum of the values of the members before this one.
  template <class T>
  PQ_HD static T exclusive_sum(T) {
    return T{0};
  }
  template <class T>
  PQ_HD static T sum(T value) {
    return value;
  }
};

}  // namespace pq
