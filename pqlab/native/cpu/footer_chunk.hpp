// One ColumnChunk struct, read field by field. What it holds beyond numbers (bounds, paths, keys)
// stays in the footer: the row keeps presence bits and positions.
#pragma once
#include "footer.hpp"

namespace pq {

// Hears where the chunk's varying parts lie; footer_shape.hpp has one that learns shapes. This one
// does not listen.
struct NoLayout {
  void varint(u64, u64, const ThriftField&, int, i64) {}
  void bytes(u64, u64) {}
  void path(u64, u64) {}
  void statistics(u64) {}
};

constexpr int NOT_STORED = -1;  // a varint that no column keeps

constexpr i64 STATISTICS_BITS = HAS_STATISTICS | HAS_NULL_COUNT | HAS_DISTINCT_COUNT |
                                HAS_NAN_COUNT | HAS_MIN | HAS_MAX | HAS_MIN_VALUE | HAS_MAX_VALUE;

template <class Layout>
class ChunkWalker {
 public:
  ChunkWalker(FooterReader& in, const Schema& schema, Layout& layout)
      : in_(in), schema_(schema), layout_(layout) {}

  // Reads the struct at the reader's position into `row` (CHUNK_COLUMNS numbers, zeroed before).
  void read(i64* row) {
    row_ = row;
    start_ = in_.position;
    row[CHUNK_POSITION] = static_cast<i64>(start_);
    present_ = 0;
    const StructSpec& owner = spec::COLUMN_CHUNK;
    u32 seen = 0;
    for (ThriftField field; in_.next_field(field);) {
      if (!in_.accept(owner, field)) continue;
      in_.mark(owner, field, seen);
      switch (field.id) {
        case 1: binary(HAS_FILE_PATH); break;
        case 2: number(owner, field, NOT_STORED); break;
        case 3:
          present_ |= HAS_META_DATA;
          read_meta_data();
          break;
        case 4: number(owner, field, CHUNK_OFFSET_INDEX_OFFSET, HAS_OFFSET_INDEX); break;
        case 5: number(owner, field, CHUNK_OFFSET_INDEX_LENGTH); break;
        case 6: number(owner, field, CHUNK_COLUMN_INDEX_OFFSET, HAS_COLUMN_INDEX); break;
        case 7: number(owner, field, CHUNK_COLUMN_INDEX_LENGTH); break;
        case 8:
          present_ |= HAS_CRYPTO_METADATA;
          in_.skip(field.type);
          break;
        case 9: binary(HAS_ENCRYPTED_COLUMN_METADATA); break;
      }
      in_.check(owner, field.id);
    }
    in_.check_complete(owner, seen, start_);
    row[CHUNK_PRESENT] = present_;
  }

 private:
  void read_meta_data() {
    const StructSpec& owner = spec::COLUMN_META_DATA;
    const u64 start = in_.position;
    u32 seen = 0;
    for (ThriftField field; in_.next_field(field);) {
      if (!in_.accept(owner, field)) continue;
      in_.mark(owner, field, seen);
      switch (field.id) {
        case 1: read_type(field); break;
        case 2: read_encodings(field); break;
        case 3: read_path(field); break;
        case 4: row_[CHUNK_CODEC] = in_.read_enum(owner, field); break;
        case 5: number(owner, field, CHUNK_NUM_VALUES); break;
        case 6: number(owner, field, CHUNK_TOTAL_UNCOMPRESSED_SIZE); break;
        case 7: number(owner, field, CHUNK_TOTAL_COMPRESSED_SIZE); break;
        case 8:
          present_ |= HAS_KEY_VALUE_METADATA;
          in_.skip(field.type);
          break;
        case 9: number(owner, field, CHUNK_DATA_PAGE_OFFSET); break;
        case 10: number(owner, field, NOT_STORED, HAS_INDEX_PAGE_OFFSET); break;
        case 11:
          number(owner, field, CHUNK_DICTIONARY_PAGE_OFFSET, HAS_DICTIONARY_PAGE_OFFSET);
          break;
        case 12: read_statistics(field); break;
        case 13: in_.read_optional(field, [&] { read_encoding_stats(field); }); break;
        case 14: number(owner, field, CHUNK_BLOOM_FILTER_OFFSET, HAS_BLOOM_FILTER_OFFSET); break;
        case 15: number(owner, field, CHUNK_BLOOM_FILTER_LENGTH, HAS_BLOOM_FILTER_LENGTH); break;
        case 16:
          if (in_.read_optional(field, [&] { read_size_statistics(); })) {
            present_ |= HAS_SIZE_STATISTICS;
          }
          break;
        case 17:
          present_ |= HAS_GEOSPATIAL_STATISTICS;
          in_.skip(field.type);
          break;
      }
      in_.check(owner, field.id);
    }
    in_.check_complete(owner, seen, start);
  }

  void binary(i64 bit) {
    const u64 start = in_.position;
    in_.read_binary();
    layout_.bytes(start, in_.position);
    present_ |= bit;
  }

  // A size, count or offset; a negative optional one counts as absent.
  void number(const StructSpec& owner, const ThriftField& field, int column, i64 bit = 0) {
    const u64 start = in_.position;
    i64 value = 0;
    if (!in_.read_size(owner, field, value)) return;
    layout_.varint(start, in_.position, field, column, value);
    if (column != NOT_STORED) row_[column] = value;
    present_ |= bit;
  }

  void read_type(const ThriftField& field) {
    const u64 start = in_.position;
    const i32 type = in_.read_enum(spec::COLUMN_META_DATA, field);
    if (type != schema_.leaf_types[static_cast<u64>(in_.leaf)]) {
      in_.corrupt(spec::COLUMN_META_DATA, 1, "is another type than the schema's", start);
    }
  }

  void read_encodings(const ThriftField& field) {
    u64 size = 0;
    in_.read_list(spec::COLUMN_META_DATA, field, size);
    u32 bits = 0;
    for (u64 i = 0; i < size && in_.ok(); ++i) bits |= encoding_bit(in_.read_signed(32));
    row_[CHUNK_ENCODINGS] = bits;
  }

  static u32 encoding_bit(i64 encoding) {
    return 1u << (encoding >= 0 && encoding <= 30 ? encoding : 31);
  }

  // Chunks are told apart by their order; a path that names another column is a warning.
  void read_path(const ThriftField& field) {
    const u64 start = in_.position;
    u64 size = 0;
    in_.read_list(spec::COLUMN_META_DATA, field, size);
    u32 element = schema_.leaf_elements[static_cast<u64>(in_.leaf)];
    bool same = size == schema_.depths[element];
    if (same && size == 1) {
      same = same_name(in_.read_binary(), element);
    } else {
      // The path runs from the root, the schema's links from the leaf: compare at the end.
      path_.clear();
      for (u64 i = 0; i < size && in_.ok(); ++i) {
        const ThriftSpan name = in_.read_binary();
        if (same) path_.push_back(name);
      }
      for (u64 i = size; same && in_.ok() && i-- > 0; element = schema_.parents[element]) {
        same = same_name(path_[i], element);
      }
    }
    layout_.path(start, in_.position);
    if (!same && in_.ok()) {
      in_.warn("ColumnMetaData.path_in_schema", "names another column than the schema", start);
    }
  }

  bool same_name(const ThriftSpan& span, u32 element) const {
    const ThriftSpan& name = schema_.names[element];
    return span.size == name.size &&
           __builtin_memcmp(in_.data + span.start, in_.data + name.start, name.size) == 0;
  }

  void read_statistics(const ThriftField& outer) {
    const u64 start = in_.position;
    present_ &= ~STATISTICS_BITS;
    row_[CHUNK_NULL_COUNT] = row_[CHUNK_DISTINCT_COUNT] = row_[CHUNK_STATISTICS_POSITION] = 0;
    layout_.statistics(start);
    const bool good = in_.read_optional(outer, [&] { read_statistics_fields(); });
    if (good) {
      present_ |= HAS_STATISTICS;
      row_[CHUNK_STATISTICS_POSITION] = static_cast<i64>(start - start_);
    } else {
      present_ &= ~STATISTICS_BITS;
      row_[CHUNK_NULL_COUNT] = row_[CHUNK_DISTINCT_COUNT] = 0;
    }
  }

  void read_statistics_fields() {
    const StructSpec& owner = spec::STATISTICS;
    u32 seen = 0;
    for (ThriftField field; in_.next_field(field);) {
      if (!in_.accept(owner, field)) continue;
      in_.mark(owner, field, seen);
      switch (field.id) {
        case 1: binary(HAS_MAX); break;
        case 2: binary(HAS_MIN); break;
        case 3: number(owner, field, CHUNK_NULL_COUNT, HAS_NULL_COUNT); break;
        case 4: number(owner, field, CHUNK_DISTINCT_COUNT, HAS_DISTINCT_COUNT); break;
        case 5: binary(HAS_MAX_VALUE); break;
        case 6: binary(HAS_MIN_VALUE); break;
        case 9: number(owner, field, NOT_STORED, HAS_NAN_COUNT); break;
      }
      in_.check(owner, field.id);
    }
    in_.check(owner, 0);
  }

  void read_encoding_stats(const ThriftField& outer) {
    u64 size = 0;
    if (!in_.read_list(spec::COLUMN_META_DATA, outer, size)) return;
    const StructSpec& owner = spec::PAGE_ENCODING_STATS;
    i64 pages = 0;
    u32 bits = 0;
    for (u64 i = 0; i < size && in_.ok(); ++i) {
      const u64 start = in_.position;
      u32 seen = 0;
      i64 page_type = 0, encoding = 0, count = 0;
      u64 count_start = 0, count_stop = 0;
      ThriftField count_field;
      for (ThriftField field; in_.next_field(field);) {
        if (!in_.accept(owner, field)) continue;
        in_.mark(owner, field, seen);
        switch (field.id) {
          case 1: page_type = in_.read_enum(owner, field); break;
          case 2: encoding = in_.read_enum(owner, field); break;
          case 3:
            count_start = in_.position;
            in_.read_size(owner, field, count);
            count_stop = in_.position;
            count_field = field;
            break;
        }
        in_.check(owner, field.id);
      }
      in_.check_complete(owner, seen, start);
      const bool data = page_type == 0 || page_type == 3;  // DATA_PAGE, DATA_PAGE_V2
      layout_.varint(count_start, count_stop, count_field, data ? CHUNK_NUM_DATA_PAGES : NOT_STORED,
                     count);
      if (data) {
        pages += count;
        bits |= encoding_bit(encoding);
      }
    }
    in_.check(owner, 0);
    row_[CHUNK_NUM_DATA_PAGES] = pages;
    row_[CHUNK_DATA_PAGE_ENCODINGS] = bits;
    present_ |= HAS_ENCODING_STATS;
  }

  void read_size_statistics() {
    const StructSpec& owner = spec::SIZE_STATISTICS;
    for (ThriftField field; in_.next_field(field);) {
      if (!in_.accept(owner, field)) continue;
      if (field.id == 1) {
        number(owner, field, NOT_STORED);
      } else {
        u64 size = 0;
        if (!in_.read_list(owner, field, size)) continue;
        for (u64 i = 0; i < size && in_.ok(); ++i) {
          const u64 start = in_.position;
          const i64 value = in_.read_zigzag();
          layout_.varint(start, in_.position, field, NOT_STORED, value);
        }
      }
      in_.check(owner, field.id);
    }
    in_.check(owner, 0);
  }

  FooterReader& in_;
  const Schema& schema_;
  Layout& layout_;
  i64* row_ = nullptr;
  i64 present_ = 0;
  u64 start_ = 0;
  std::vector<ThriftSpan> path_;
};

}  // namespace pq
