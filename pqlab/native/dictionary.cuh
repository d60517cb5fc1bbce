// Dictionary indices: RLE_DICTIONARY, and PLAIN_DICTIONARY, which is the same in data pages.
#pragma once
#include "hybrid.cuh"

namespace pq {

// Sink: the entries that the indices name. Every index is checked before it is used.
template <class T>
struct GatherSink {
  const T* dictionary;
  u64 entries;
  T* out;
  u32 width;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    if (run.value >= entries) return status_word(Status::INDEX, at);
    fill_run(group, dictionary[run.value], run.count, out + at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    const u64 bad =
        gather_run(group, run.bytes, run.size, width, run.count, dictionary, entries, out + at);
    return bad == run.count ? STATUS_OK : status_word(Status::INDEX, at + bad);
  }
};

// `count` values of a data page's bytes[0, size): a byte with the width, then the indices. Indices
// of width 0 are all 0, whether runs follow or not.
template <class Group, class T>
PQ_HD StatusWord decode_dictionary(const Group& group, const u8* bytes, u64 size, u64 count,
                                   const T* dictionary, u64 entries, T* out) {
  if (count == 0) return STATUS_OK;
  if (size == 0) return status_word(Status::TRUNCATED, 0);
  const u32 width = bytes[0];
  GatherSink<T> sink{dictionary, entries, out, width};
  if (width == 0) return sink.fill(group, 0, Run{count, 0, false, nullptr, 0});
  return decode_hybrid(group, HybridReader(bytes + 1, size - 1, width), count, sink);
}

}  // namespace pq
