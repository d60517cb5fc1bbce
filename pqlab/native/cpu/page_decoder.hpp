// Decodes one page after the other, with scratch memory and decompressors of its own: one per
// worker thread.
#pragma once
#include <algorithm>

#include "codecs.hpp"
#include "read.hpp"

namespace pq {

// What is wrong with a page's values.
Error value_error(StatusWord word, const ValueType& type);

// Throws it.
void check(StatusWord word, const ValueType& type);

// Forgets a buffer that none of the views points into.
void drop_if_unused(ViewBuffer* kept, const u8* views, u64 count);

void check_levels(StatusWord word, bool repetition = false);

// A page's body as it is stored: levels of a v2 page, which are never compressed, then its values.
struct StoredBody {
  const u8* levels;
  u64 levels_size;
  const u8* stored;
  u64 stored_size;
  u64 values_size;  // uncompressed
  bool compressed;

  // Throws where the sizes of what is not compressed disagree.
  void check() const;
};
StoredBody stored_body(const ReadSpec& spec, const PageTask& task);

// Throws Corrupt where a page's CRC-32 is to be verified, and is another.
void check_checksum(const ReadSpec& spec, const PageTask& task);

// Throws where what prefixes of a page unfold to, `size` bytes, is above the limits of the read.
void check_joined(Read& read, const PageTask& task, u64 size);

// The parts of a page's rows that are wanted: use(row within the page, count, row of the output).
template <class Use>
void for_each_piece(const ReadSpec& spec, const PageTask& task, Use&& use) {
  const ChunkSpec& chunk = spec.chunks[task.chunk];
  const i64 first = task.page.first_row, last = first + task.page.num_values;
  const RowRange* range = spec.ranges.data() + chunk.first_range;
  const RowRange* end = range + chunk.num_ranges;
  range = std::partition_point(range, end, [&](const RowRange& r) { return r.stop <= first; });
  for (; range != end && range->start < last; ++range) {
    const i64 from = std::max(first, range->start), to = std::min(last, range->stop);
    use(static_cast<u64>(from - first), static_cast<u64>(to - from),
        static_cast<u64>(range->out + (from - range->start)));
  }
}

class PageDecoder {
 public:
  // Decode a task's page into the read's columns. Throws Error with the page's place.
  void decode(Read& read, const PageTask& task, i32 worker);

  // Decompress two pages that go together, in less time than one after the other, before they are
  // decoded. What fails is left to `decode`.
  void decompress_two(Read& read, const PageTask& first, const PageTask& second, i32 worker);
  static bool go_together(const Read& read, const PageTask& first, const PageTask& second);

  // The calling thread's own.
  static PageDecoder& of_this_thread();

 private:
  struct LevelBytes {
    const u8* bytes = nullptr;
    u64 size = 0;
    bool bit_packed = false;  // the deprecated encoding; else RLE
  };
  // What a page holds once decompressed.
  struct Body {
    LevelBytes repetition;  // of a v2 page
    LevelBytes definition;
    const u8* values = nullptr;  // of a v1 page at first: levels, then values
    u64 values_size = 0;
  };

  void decode_dictionary_page(const PageTask& task);
  void decode_page_with_last_value(const PageTask& task);
  void decode_page(const PageTask& task);
  void decode_data_page(const PageTask& task);
  void decode_nested_page(const PageTask& task);
  Body open(const PageTask& task, Buffer& page, u8* direct);
  u8* direct_target(const PageTask& task) const;
  LevelBytes take_levels(const PageTask& task, Body& body, bool repetition) const;
  u64 read_levels(const PageTask& task, Body& body);
  u64 read_nested_levels(const PageTask& task, Body& body, NestedPage& page);
  void decode_nested_values(const PageTask& task, const Body& body, const NestedPage& page,
                            u64 stored, const std::vector<PageRange>& kept, const Buffer& nulls);
  void decode_values(const PageTask& task, const Body& body, u64 count, u8* out);
  void decode_byte_streams(const PageTask& task, const Body& body, u64 count, u8* out);
  void decode_numbers(const PageTask& task, const Body& body, u64 count, u8* out);
  void decode_delta_lengths(const PageTask& task, Body body, u64 count, u8* out);
  void decode_prefixes(const PageTask& task, Body body, u64 count, u8* out);
  u8* decode_target(const PageTask& task, u64 count, u8* out);
  void finish_text(const PageTask& task, const u8* bytes, const u8* decoded, u64 count, u8* out);
  std::string value_before(const PageTask& task);
  u8* plain_target(const PageTask& task, u64 size, u8* out);
  void finish_plain(const PageTask& task, const u8* plain, u64 size, u64 count, u8* out);
  bool wait_for_dictionary(const PageTask& task);
  void done_with_dictionary(const PageTask& task);
  void emit(const PageTask& task, const u8* values, u64 valid);

  const ColumnSpec& column(const PageTask& task) const;
  ColumnOutput& output(const PageTask& task) const;
  u8* whole_target(const PageTask& task) const;
  ViewBuffer* view_buffer(const PageTask& task) const;
  ViewPlace place_of(const PageTask& task, ViewBuffer* kept, const Body& body) const;
  void record(const PageTask& task, Stage stage, i64 start_ns, u64 bytes_in, u64 bytes_out);
  void record(const PageTask& task, Stage stage, i64 start_ns, i64 stop_ns, u64 bytes_in,
              u64 bytes_out);
  template <class Work>
  void counted(Work&& work);
  i64 now() const;

  Read* read_ = nullptr;
  i32 worker_ = -1;
  i64 faults_ = 0;       // of this thread, up to the end of its last recorded task
  u64 faults_read_ = 0;  // the read of that task
  Decompressor decompressor_;
  // Pages that decompress_two has left.
  struct Opened {
    u64 read_id = 0;
    const PageTask* task = nullptr;
    const u8* values = nullptr;
  };
  Opened opened_[2];
  Buffer page_;         // decompressed
  Buffer second_page_;  // the other of two
  Buffer validity_;     // of the page, bit 0 its first row
  Buffer dense_;        // its values without the nulls
  Buffer bytes_;        // booleans from a dictionary; values made PLAIN
  Buffer texts_;        // that are looked up
  Buffer lengths_;      // of byte arrays
  Buffer values_;       // with them, where they do not go to the output as they are
};

}  // namespace pq
