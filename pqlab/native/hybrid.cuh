// The RLE/bit-packed hybrid: levels, dictionary indices, booleans. Runs come before values: the
// reader yields a run at a time, and a sink decides what its values become.
#pragma once
#include "leaf.cuh"

namespace pq {

constexpr u32 MAX_HYBRID_WIDTH = 32;

struct Run {
  u64 count;  // values, never more than were asked for
  u32 value;  // of a repeated run
  bool packed;
  const u8* bytes;  // of a packed run
  u64 size;         // with all that follows it
};

struct HybridReader {
  const u8* bytes;
  u64 size;
  u32 width;
  u64 position = 0;  // of the next run

  PQ_HD HybridReader(const u8* bytes_, u64 size_, u32 width_)
      : bytes(bytes_), size(size_), width(width_) {}

  // The next run, cut to `wanted` values (the last packed run is padded to a multiple of 8, and its
  // padding may be missing). Runs of no values are passed over.
  PQ_HD Status next(u64 wanted, Run& run) {
    for (;;) {
      u32 header;
      const Status status = read_header(header);
      if (status != Status::OK) return status;
      run.packed = (header & 1) != 0;
      const u64 count = run.packed ? static_cast<u64>(header >> 1) * 8 : header >> 1;
      run.count = count < wanted ? count : wanted;
      const u64 left = size - position;
      if (run.packed) {
        const u64 needed = packed_bytes(run.count, width);
        if (needed > left) return Status::TRUNCATED;
        run.bytes = bytes + position;
        run.size = left;
        position += packed_bytes(count, width) < left ? packed_bytes(count, width) : left;
      } else {
        const u32 value_bytes = (width + 7) / 8;
        if (value_bytes > left) return Status::TRUNCATED;
        run.value = static_cast<u32>(load_partial(bytes + position, value_bytes));
        position += value_bytes;
      }
      if (run.count != 0) return Status::OK;
    }
  }

 private:
  PQ_HD Status read_header(u32& header) {
    header = 0;
    for (u32 shift = 0; shift < 35; shift += 7) {
      if (position >= size) return Status::TRUNCATED;
      const u8 byte = bytes[position++];
      if (shift == 28 && byte > 0x0f) return Status::VARINT;
      header |= static_cast<u32>(byte & 0x7f) << shift;
      if (byte < 0x80) return Status::OK;
    }
    return Status::VARINT;
  }
};

// Exactly `count` values into the sink, whose members are
//   StatusWord fill(group, at, run), StatusWord unpack(group, at, run)
// with `at` the ordinal of the run's first value. The place of an error is a value's ordinal.
template <class Group, class Sink>
PQ_HD StatusWord decode_hybrid(const Group& group, HybridReader reader, u64 count, Sink& sink) {
  if (reader.width > MAX_HYBRID_WIDTH) return status_word(Status::BIT_WIDTH, 0);
  Run run{};
  for (u64 at = 0; at < count; at += run.count) {
    const Status status = reader.next(count - at, run);
    if (status != Status::OK) return status_word(status, at);
    const StatusWord word = run.packed ? sink.unpack(group, at, run) : sink.fill(group, at, run);
    if (word != STATUS_OK) return word;
  }
  return STATUS_OK;
}

// Sink: the values themselves.
template <class T>
struct ValueSink {
  T* out;
  u32 width;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    fill_run(group, static_cast<T>(run.value), run.count, out + at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    unpack_run(group, run.bytes, run.size, width, run.count, out + at);
    return STATUS_OK;
  }
};

// Sink: booleans, as the bits of a zeroed bitmap.
struct BitSink {
  u8* out;

  template <class Group>
  PQ_HD StatusWord fill(const Group& group, u64 at, const Run& run) {
    if (run.value > 1) return status_word(Status::RANGE, at);
    if (run.value == 1) set_bits(group, run.count, out, at);
    return STATUS_OK;
  }
  template <class Group>
  PQ_HD StatusWord unpack(const Group& group, u64 at, const Run& run) {
    put_bits(group, run.bytes, 0, run.count, out, at);
    return STATUS_OK;
  }
};

}  // namespace pq
