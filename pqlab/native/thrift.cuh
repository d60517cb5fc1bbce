// Thrift's compact protocol, read from bytes that may be hostile. Shared by host and device: no
// allocation, no recursion, no exceptions.
//
// The status is sticky: after a failure every call returns 0 or false and moves nothing, so that
// callers check once per struct. `failed_at` is the position of the item that failed.
//
//     ThriftReader in(data, size);
//     for (ThriftField field; in.next_field(field);) {
//       switch (field.id) {
//         case 1: num_values = in.read_i32(field); break;
//         default: in.skip(field.type);
//       }
//     }
//     if (in.status != ThriftStatus::OK) ...
#pragma once
#include "bits.cuh"

namespace pq {

enum class ThriftStatus : u8 {
  OK = 0,
  TRUNCATED = 1,        // the bytes end inside an item
  VARINT_TOO_LONG = 2,  // more than 10 bytes, or more than 64 bits
  OUT_OF_RANGE = 3,     // the value does not fit its type
  FIELD_ID = 4,         // a field id outside of i16
  UNKNOWN_TYPE = 5,     // a type code that the protocol does not have
  WRONG_TYPE = 6,       // a type other than the one the specification gives the field
  TOO_LONG = 7,         // a list or binary longer than the bytes left
  TOO_DEEP = 8,         // nested deeper than THRIFT_MAX_DEPTH
};

enum class ThriftType : u8 {
  STOP = 0,
  BOOL_TRUE = 1,
  BOOL_FALSE = 2,
  I8 = 3,
  I16 = 4,
  I32 = 5,
  I64 = 6,
  DOUBLE = 7,
  BINARY = 8,
  LIST = 9,
  SET = 10,
  MAP = 11,
  STRUCT = 12,
  UUID = 13,
};

constexpr int THRIFT_MAX_DEPTH = 64;  // of containers inside a skipped field

// `id` is also what the next field's delta counts from: one ThriftField per struct being read.
struct ThriftField {
  i32 id = 0;
  ThriftType type = ThriftType::STOP;
  u64 position = 0;  // of the field's header
};

struct ThriftList {
  u64 size = 0;
  ThriftType element = ThriftType::STOP;
};

struct ThriftSpan {
  u64 start = 0;
  u64 size = 0;
};

struct ThriftReader {
  const u8* data;
  u64 size;
  u64 position = 0;
  u64 failed_at = 0;
  ThriftStatus status = ThriftStatus::OK;

  PQ_HD ThriftReader(const u8* data_, u64 size_, u64 position_ = 0)
      : data(data_), size(size_), position(position_) {}

  PQ_HD bool ok() const { return status == ThriftStatus::OK; }
  PQ_HD u64 left() const { return size - position; }

  PQ_HD void fail(ThriftStatus why, u64 where) {
    if (!ok()) return;
    status = why;
    failed_at = where;
    position = size;
  }

  PQ_HD u8 read_byte() {
    if (position >= size) {
      fail(ThriftStatus::TRUNCATED, position);
      return 0;
    }
    return data[position++];
  }

  PQ_HD u64 read_varint() {
    if (position < size && data[position] < 0x80) return data[position++];
    return read_long_varint();
  }

  PQ_HD i64 read_zigzag() {
    const u64 value = read_varint();
    return static_cast<i64>((value >> 1) ^ (~(value & 1) + 1));
  }

  // A zigzag varint within [-2^(bits-1), 2^(bits-1)).
  PQ_HD i64 read_signed(int bits) {
    const u64 start = position;
    const i64 value = read_zigzag();
    const i64 half = static_cast<i64>(1ull << (bits - 1));
    if (bits < 64 && (value < -half || value >= half)) {
      fail(ThriftStatus::OUT_OF_RANGE, start);
      return 0;
    }
    return value;
  }

  // False at the struct's end and after a failure.
  PQ_HD bool next_field(ThriftField& field) {
    field.position = position;
    const u8 head = read_byte();
    field.type = static_cast<ThriftType>(head & 15);
    if (field.type == ThriftType::STOP) return false;
    if (field.type > ThriftType::UUID) {
      fail(ThriftStatus::UNKNOWN_TYPE, field.position);
      return false;
    }
    const i64 id = (head >> 4) != 0 ? field.id + (head >> 4) : read_zigzag();
    if (id < -32768 || id > 32767) fail(ThriftStatus::FIELD_ID, field.position);
    field.id = static_cast<i32>(id);
    return ok();
  }

  PQ_HD bool expect(const ThriftField& field, ThriftType type) {
    if (field.type != type) fail(ThriftStatus::WRONG_TYPE, field.position);
    return ok();
  }

  // Typed reads of a field's value; another type on the wire is WRONG_TYPE.
  PQ_HD bool read_bool(const ThriftField& field) {
    if (field.type == ThriftType::BOOL_TRUE) return ok();
    expect(field, ThriftType::BOOL_FALSE);
    return false;
  }
  PQ_HD i8 read_i8(const ThriftField& field) {
    return expect(field, ThriftType::I8) ? static_cast<i8>(read_byte()) : i8{0};
  }
  PQ_HD i32 read_i16(const ThriftField& field) {
    return expect(field, ThriftType::I16) ? static_cast<i32>(read_signed(16)) : 0;
  }
  PQ_HD i32 read_i32(const ThriftField& field) {
    return expect(field, ThriftType::I32) ? static_cast<i32>(read_signed(32)) : 0;
  }
  PQ_HD i64 read_i64(const ThriftField& field) {
    return expect(field, ThriftType::I64) ? read_signed(64) : 0;
  }
  PQ_HD double read_double(const ThriftField& field) {
    u64 bits = 0;
    if (!expect(field, ThriftType::DOUBLE)) return 0;
    for (int shift = 0; shift < 64; shift += 8) bits |= static_cast<u64>(read_byte()) << shift;
    double value;
    copy_small(&value, &bits, sizeof value);
    return value;
  }
  PQ_HD ThriftSpan read_binary(const ThriftField& field) {
    return expect(field, ThriftType::BINARY) ? read_binary() : ThriftSpan{};
  }
  // An empty list may carry any element type: some writers leave it 0.
  PQ_HD ThriftList read_list(const ThriftField& field, ThriftType element) {
    if (!expect(field, ThriftType::LIST)) return {};
    const u64 start = position;
    ThriftList list = read_list_header();
    const bool both_bool =
        element == ThriftType::BOOL_TRUE && list.element == ThriftType::BOOL_FALSE;
    if (list.size != 0 && list.element != element && !both_bool) {
      fail(ThriftStatus::WRONG_TYPE, start);
      return {};
    }
    return list;
  }

  // Values without a field header, as in lists.
  PQ_HD ThriftSpan read_binary() {
    const u64 start = position;
    const u64 length = read_varint();
    if (length > left()) {
      fail(ThriftStatus::TOO_LONG, start);
      return {};
    }
    const ThriftSpan span{position, length};
    position += length;
    return span;
  }

  // Every element takes a byte at least, so a list is never longer than the bytes left.
  PQ_HD ThriftList read_list_header() {
    const u64 start = position;
    const u8 head = read_byte();
    ThriftList list{static_cast<u64>(head >> 4), static_cast<ThriftType>(head & 15)};
    if (list.size == 15) list.size = read_varint();
    if (list.size > left()) fail(ThriftStatus::TOO_LONG, start);
    return ok() ? list : ThriftList{};
  }

  // Skip the value of a field of that type.
  PQ_HD void skip(ThriftType type) {
    if (type == ThriftType::BOOL_TRUE || type == ThriftType::BOOL_FALSE) return;
    skip_element(type);
  }

  // Skip a value that stands in a container, where a bool takes a byte.
  PQ_HD_CALLED void skip_element(ThriftType type) {
    // What is open: a container has elements left to skip, a struct has fields until its stop.
    constexpr u64 FIELDS = ~0ull;
    u64 remaining[THRIFT_MAX_DEPTH];
    ThriftType element[THRIFT_MAX_DEPTH];
    ThriftType value[THRIFT_MAX_DEPTH];  // of maps, else STOP
    int depth = 0;
    bool in_struct = false;
    for (;;) {
      const u64 start = position;
      u64 elements = 0;
      ThriftType first = ThriftType::STOP, second = ThriftType::STOP;
      switch (type) {
        case ThriftType::BOOL_TRUE:
        case ThriftType::BOOL_FALSE:
          if (!in_struct) read_byte();
          break;
        case ThriftType::I8: read_byte(); break;
        case ThriftType::I16:
        case ThriftType::I32:
        case ThriftType::I64: read_varint(); break;
        case ThriftType::DOUBLE: advance(8); break;
        case ThriftType::UUID: advance(16); break;
        case ThriftType::BINARY: read_binary(); break;
        case ThriftType::LIST:
        case ThriftType::SET: {
          const ThriftList list = read_list_header();
          elements = list.size;
          first = list.element;
          break;
        }
        case ThriftType::MAP: {
          elements = read_varint();
          if (elements > left()) fail(ThriftStatus::TOO_LONG, start);
          if (elements == 0) break;
          const u8 types = read_byte();
          elements *= 2;
          first = static_cast<ThriftType>(types >> 4);
          second = static_cast<ThriftType>(types & 15);
          break;
        }
        case ThriftType::STRUCT: elements = FIELDS; break;
        default: fail(ThriftStatus::UNKNOWN_TYPE, start);
      }
      if (elements != 0 && ok()) {
        if (depth == THRIFT_MAX_DEPTH) {
          fail(ThriftStatus::TOO_DEEP, start);
        } else {
          remaining[depth] = elements;
          element[depth] = first;
          value[depth] = second;
          ++depth;
        }
      }
      // The next value to skip: of the innermost container that has one left.
      for (;;) {
        if (!ok() || depth == 0) return;
        if (remaining[depth - 1] == FIELDS) {
          ThriftField field;
          if (next_field_any_id(field)) {
            type = field.type;
            in_struct = true;
            break;
          }
        } else if (remaining[depth - 1] != 0) {
          const bool second_turn =
              value[depth - 1] != ThriftType::STOP && (remaining[depth - 1] & 1) != 0;
          type = second_turn ? value[depth - 1] : element[depth - 1];
          --remaining[depth - 1];
          in_struct = false;
          break;
        }
        --depth;
      }
    }
  }

 private:
  PQ_HD void advance(u64 bytes) {
    if (bytes > left()) {
      fail(ThriftStatus::TRUNCATED, position);
    } else {
      position += bytes;
    }
  }

  // As next_field where ids do not matter: deltas are not added up, long ids are still checked.
  PQ_HD bool next_field_any_id(ThriftField& field) {
    field.id = 0;
    return next_field(field);
  }

  PQ_HD_CALLED u64 read_long_varint() {
    const u64 start = position;
    u64 value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (position >= size) {
        fail(ThriftStatus::TRUNCATED, start);
        return 0;
      }
      const u8 byte = data[position++];
      if (shift == 63 && byte > 1) break;
      value |= static_cast<u64>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail(ThriftStatus::VARINT_TOO_LONG, start);
    return 0;
  }
};

}  // namespace pq
