// Decodes one page after the other, with scratch memory and decompressors of its own: one per
// worker thread.
#pragma once
#include "codecs.hpp"
#include "read.hpp"

namespace pq {

class PageDecoder {
 public:
  // Decode a task's page into the read's columns. Throws Error with the page's place.
  void decode(Read& read, const PageTask& task, i32 worker);

  // The calling thread's own.
  static PageDecoder& of_this_thread();

 private:
  struct Body;

  void decode_dictionary_page(const PageTask& task);
  void decode_data_page(const PageTask& task);
  Body open(const PageTask& task, Buffer& page, u8* direct);
  u64 read_levels(const PageTask& task, Body& body);
  void decode_values(const PageTask& task, const Body& body, u64 count, u8* out);
  void decode_byte_streams(const PageTask& task, const Body& body, u64 count, u8* out);
  bool wait_for_dictionary(const PageTask& task);
  void emit(const PageTask& task, const u8* values, u64 valid);

  const ColumnSpec& column(const PageTask& task) const;
  ColumnOutput& output(const PageTask& task) const;
  u8* whole_target(const PageTask& task) const;
  ViewBuffer* view_buffer(const PageTask& task) const;
  ViewPlace place_of(const PageTask& task, ViewBuffer* kept, const Body& body) const;
  void check_checksum(const PageTask& task) const;
  void record(const PageTask& task, Stage stage, i64 start_ns, u64 bytes_in, u64 bytes_out);
  i64 now() const;

  Read* read_ = nullptr;
  i32 worker_ = -1;
  Decompressor decompressor_;
  Buffer page_;      // decompressed
  Buffer validity_;  // of the page, bit 0 its first row
  Buffer dense_;     // its values without the nulls
  Buffer bytes_;     // booleans from a dictionary; joined byte streams
  Buffer values_;    // with them, where they do not go to the output as they are
};

}  // namespace pq
