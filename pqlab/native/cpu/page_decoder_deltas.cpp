// The part of the page decoder that decodes numbers made PLAIN, and byte arrays of the DELTA
// encodings.
#include "loops.hpp"
#include "page_decoder.hpp"

namespace pq {
namespace {

constexpr u64 MAX_VIEW_OFFSET = 0x7fffffff;

}  // namespace

void PageDecoder::decode_numbers(const PageTask& task, const Body& body, u64 count, u8* out) {
  const ValueType type = column(task).type;
  const u64 size = count * type.width;
  u8* plain = plain_target(task, size, out);
  if (static_cast<Encoding>(task.page.encoding) == Encoding::ALP) {
    check(loops().scale_alp(type, body.values, body.values_size, count, plain), type);
  } else {
    u64 used;
    check(loops().sum_deltas(type.width, body.values, body.values_size, count, plain, used), type);
  }
  finish_plain(task, plain, size, count, out);
}

void PageDecoder::decode_delta_lengths(const PageTask& task, Body body, u64 count, u8* out) {
  const ValueType type = column(task).type;
  u8* lengths = lengths_.reserve(count * sizeof(u32));
  u64 used;
  check(loops().sum_deltas(sizeof(u32), body.values, body.values_size, count, lengths, used), type);
  body.values += used;
  body.values_size -= used;
  ViewBuffer* kept = view_buffer(task);
  const ViewPlace place = place_of(task, kept, body);
  u8* to = decode_target(task, count, out);
  check(loops().decode_lengths(type.decoded(), reinterpret_cast<u32*>(lengths), body.values,
                               body.values_size, count, place, to),
        type);
  finish_text(task, body.values, to, count, out);
}

// A small page may hold prefixes of a very long value: what it unfolds to is bounded like pages.
void check_joined(Read& read, const PageTask& task, u64 size) {
  const ReadSpec& spec = read.spec;
  if (size > static_cast<u64>(spec.max_page_bytes)) throw page_bytes_error(size, spec);
  if (!read.column(task).type.keeps_bytes()) return;
  if (size > MAX_VIEW_OFFSET) {
    throw Error(ErrorKind::Unsupported, "the page's values take " + std::to_string(size) +
                                            " bytes, more than the offsets of views reach");
  }
  const u64 all = read.decoded_bytes += size;
  if (all > static_cast<u64>(spec.max_read_bytes)) throw read_bytes_error(all, spec);
}

// What the first prefix of a page may reach into.
std::string PageDecoder::value_before(const PageTask& task) {
  if (task.value_before == 0) return {};
  const LastValue& before = read_->last_values[task.value_before];
  if (before.state == LastValue::State::PENDING) {
    const i64 start = now();
    std::unique_lock<std::mutex> lock(read_->mutex);
    read_->last_value_done.wait(lock, [&] { return before.state != LastValue::State::PENDING; });
    lock.unlock();
    record(task, Stage::WAIT, start, 0, 0);
  }
  return before.value;
}

void PageDecoder::decode_prefixes(const PageTask& task, Body body, u64 count, u8* out) {
  const ValueType type = column(task).type;
  const std::string before = value_before(task);
  if (task.last_value != 0) read_->last_values[task.last_value].value = before;
  if (count == 0) return;
  auto* prefixes = reinterpret_cast<u32*>(lengths_.reserve(2 * count * sizeof(u32)));
  u32* lengths = prefixes + count;
  for (u32* numbers : {prefixes, lengths}) {
    u64 used;
    check(loops().sum_deltas(sizeof(u32), body.values, body.values_size, count,
                             reinterpret_cast<u8*>(numbers), used),
          type);
    body.values += used;
    body.values_size -= used;
  }
  u64 size;
  check(loops().add_prefixes(prefixes, lengths, count, body.values_size, before.size(), type.width,
                             size),
        type);
  check_joined(*read_, task, size);
  u8* plain = plain_target(task, size, out);
  const auto* first = reinterpret_cast<const u8*>(before.data());
  loops().join_prefixes(prefixes, lengths, count, body.values, body.values_size, first,
                        before.size(), plain, size);
  if (task.last_value != 0) {
    const u64 length = lengths[count - 1];
    const auto* last = reinterpret_cast<const char*>(plain + size - length);
    read_->last_values[task.last_value].value.assign(last, length);
  }
  if (type.width != 0) return finish_plain(task, plain, size, count, out);
  u8* to = decode_target(task, count, out);
  check(loops().decode_lengths(type.decoded(), lengths, plain, size, count, {task.view_buffer, 0},
                               to),
        type);
  finish_text(task, plain, to, count, out);
}

// The page after it waits, however this one ends.
void PageDecoder::decode_page_with_last_value(const PageTask& task) {
  const auto finish = [&](LastValue::State state) {
    const std::lock_guard<std::mutex> lock(read_->mutex);
    read_->last_values[task.last_value].state = state;
    read_->last_value_done.notify_all();
  };
  try {
    decode_page(task);
  } catch (...) {
    finish(LastValue::State::FAILED);
    throw;
  }
  finish(LastValue::State::READY);
}

}  // namespace pq
