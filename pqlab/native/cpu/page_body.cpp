// The part of the page decoder that opens pages: what stands in their bodies, decompressed.
#include <algorithm>
#include <cstdio>

#include "crc32.hpp"
#include "loops.hpp"
#include "page_decoder.hpp"

namespace pq {
namespace {

std::string hex(u32 value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

StoredBody stored_body(const ReadSpec& spec, const PageTask& task) {
  const Page& page = task.page;
  u64 levels = 0;
  if (page.type == PageType::DATA_PAGE_V2) {
    levels = static_cast<u64>(page.repetition_levels_byte_length) +
             static_cast<u64>(page.definition_levels_byte_length);
  }
  StoredBody body{task.body,
                  levels,
                  task.body + levels,
                  task.body_bytes() - levels,
                  static_cast<u64>(page.uncompressed_page_size) - levels,
                  false};
  const bool says_compressed =
      (page.flags & PAGE_IS_COMPRESSED) != 0 || spec.is_compressed_is_wrong;
  const bool codec = spec.chunks[task.chunk].codec != static_cast<i32>(Codec::UNCOMPRESSED);
  body.compressed = codec && says_compressed && body.stored_size != 0;
  return body;
}

void StoredBody::check() const {
  if (compressed || stored_size == values_size) return;
  throw Error(ErrorKind::Corrupt,
              "an uncompressed page of " + std::to_string(stored_size) +
                  " bytes, of which the header says " + std::to_string(values_size),
              "PageHeader.uncompressed_page_size");
}

void check_checksum(const ReadSpec& spec, const PageTask& task) {
  if (!spec.verify_checksums || (task.page.flags & PAGE_HAS_CRC) == 0) return;
  const u32 found = crc32(task.body, task.body_bytes());
  if (found == task.page.crc) return;
  throw Error(ErrorKind::Corrupt,
              "the page's CRC-32 is " + hex(found) + ", its header says " + hex(task.page.crc),
              "PageHeader.crc");
}

bool PageDecoder::go_together(const Read& read, const PageTask& first, const PageTask& second) {
  constexpr i64 MOST_BYTES = 512 << 10;  // that stay in a core's cache until they are decoded
  const auto is_snappy = [&](const PageTask& task) {
    return task.page.type != PageType::DICTIONARY_PAGE &&
           read.spec.chunks[task.chunk].codec == static_cast<i32>(Codec::SNAPPY) &&
           stored_body(read.spec, task).compressed;
  };
  const i64 bytes =
      i64{first.page.uncompressed_page_size} + i64{second.page.uncompressed_page_size};
  return bytes <= MOST_BYTES && is_snappy(first) && is_snappy(second);
}

void PageDecoder::decompress_two(Read& read, const PageTask& first, const PageTask& second,
                                 i32 worker) {
  read_ = &read;
  worker_ = worker;
  const PageTask* tasks[2] = {&first, &second};
  Buffer* scratch[2] = {&page_, &second_page_};
  CompressedBlock blocks[2];
  for (u32 i = 0; i < 2; ++i) {
    opened_[i] = {};
    const StoredBody from = stored_body(read.spec, *tasks[i]);
    u8* to = direct_target(*tasks[i]);
    if (to == nullptr) {
      ViewBuffer* kept = tasks[i]->views_point_into_body() ? view_buffer(*tasks[i]) : nullptr;
      try {
        to = (kept != nullptr ? kept->owned : *scratch[i]).reserve(from.values_size);
      } catch (const Error&) {
        return;
      }
    }
    blocks[i] = {from.stored, from.stored_size, to, from.values_size};
  }
  i64 start = now();
  StatusWord words[2];
  loops().snappy_two(blocks, words);
  const i64 took = now() - start;
  const double all = static_cast<double>(blocks[0].dst_size + blocks[1].dst_size);
  for (u32 i = 0; i < 2; ++i) {
    if (words[i] != STATUS_OK) continue;
    opened_[i] = {read.id, tasks[i], blocks[i].dst};
    // Of the time that both took, each has the share of its bytes; events do not touch.
    const double share = all == 0 ? 0.5 : static_cast<double>(blocks[i].dst_size) / all;
    const i64 mine = static_cast<i64>(static_cast<double>(took) * share);
    record(*tasks[i], Stage::DECOMPRESS, start, start + std::max<i64>(mine - 1, 0),
           blocks[i].src_size, blocks[i].dst_size);
    start += mine;
  }
}

// Where the values of a page go at once when it is decompressed, if they are what the output holds.
u8* PageDecoder::direct_target(const PageTask& task) const {
  const ColumnSpec& spec = column(task);
  const u64 size = static_cast<u64>(task.page.num_values) * spec.type.width;
  const bool direct = !spec.nesting.nested && spec.type.copies() &&
                      static_cast<Encoding>(task.page.encoding) == Encoding::PLAIN &&
                      spec.max_definition_level == 0 &&
                      size == static_cast<u64>(task.page.uncompressed_page_size);
  return direct ? whole_target(task) : nullptr;
}

// Decompresses into `page` what is compressed; what is not stays where it is. Where `direct` is
// given, that many bytes of values are decompressed to there.
PageDecoder::Body PageDecoder::open(const PageTask& task, Buffer& page, u8* direct) {
  check_checksum(read_->spec, task);
  const Page& header = task.page;
  const StoredBody from = stored_body(read_->spec, task);
  Body body;
  if (header.type == PageType::DATA_PAGE_V2) {
    body.repetition.bytes = from.levels;
    body.repetition.size = static_cast<u64>(header.repetition_levels_byte_length);
    body.definition.bytes = from.levels + body.repetition.size;
    body.definition.size = static_cast<u64>(header.definition_levels_byte_length);
  }
  body.values_size = from.values_size;
  from.check();
  if (!from.compressed) {
    body.values = from.stored;
    return body;
  }
  for (Opened& opened : opened_) {
    if (opened.read_id != read_->id || opened.task != &task) continue;
    body.values = opened.values;
    return body;
  }
  const i64 start = now();
  u8* to = direct;
  if (direct == nullptr) {
    page.reserve(body.values_size);
    to = page.data();
  }
  const i32 codec = read_->spec.chunks[task.chunk].codec;
  decompressor_.decompress(codec, from.stored, from.stored_size, to, body.values_size);
  record(task, Stage::DECOMPRESS, start, from.stored_size, body.values_size);
  body.values = to;
  return body;
}

// What views into the page say of their place. A page that was not decompressed stays in its run.
ViewPlace PageDecoder::place_of(const PageTask& task, ViewBuffer* kept, const Body& body) const {
  if (kept == nullptr) return {0, 0};
  if (kept->owned) return {task.view_buffer, static_cast<u32>(body.values - kept->owned.data())};
  kept->data = body.values;
  kept->size = body.values_size;
  kept->owner = read_->spec.fetch.pieces[task.run->piece].owner;
  return {task.view_buffer, 0};
}

}  // namespace pq
