// Page headers: thrift bytes to a row of the page table, for host and device.
//
// An outcome names its field by number, so that device code carries no text: the struct and the
// field id in it. Optional fields of a wrong type are passed over and counted.
#pragma once
#include "page.cuh"
#include "thrift.cuh"

namespace pq {

enum class PageHeaderStatus : u8 {
  OK = 0,
  THRIFT = 1,           // `thrift` says what is wrong
  MISSING = 2,          // a required field is absent
  NEGATIVE = 3,         // a size or count below zero
  TOO_LARGE = 4,        // header and body together pass 2^31-1 bytes
  LEVELS_TOO_LONG = 5,  // the levels of a v2 page are longer than the page
};

enum class PageHeaderStruct : u8 {
  PAGE_HEADER = 0,
  DATA_PAGE_HEADER = 1,
  DICTIONARY_PAGE_HEADER = 2,
  DATA_PAGE_HEADER_V2 = 3,
  STATISTICS = 4,
};

struct PageHeaderOutcome {
  PageHeaderStatus status = PageHeaderStatus::OK;
  ThriftStatus thrift = ThriftStatus::OK;
  PageHeaderStruct at_struct = PageHeaderStruct::PAGE_HEADER;
  i32 at_field = 0;
  u64 failed_at = 0;    // position in the bytes given
  i32 passed_over = 0;  // optional fields of a wrong type
  i32 compressed_page_size = -1;
};

PQ_HD Page unknown_page() {
  Page page{};
  page.offset = page.first_row = page.min_start = page.max_start = -1;
  page.row_group = page.leaf = -1;
  page.total_bytes = page.header_bytes = page.uncompressed_page_size = -1;
  page.num_values = page.num_nulls = page.num_rows = -1;
  page.definition_levels_byte_length = page.repetition_levels_byte_length = -1;
  page.type = PageType::UNKNOWN;
  page.encoding = page.definition_level_encoding = page.repetition_level_encoding = -1;
  page.flags = PAGE_IS_COMPRESSED;
  return page;
}

// Fills the cells of `page` that a header knows; `min_start` and `max_start` are positions in
// `data`. Leaves offset, row_group, leaf, page and first_row alone.
class PageHeaderParser {
 public:
  PQ_HD PageHeaderParser(const u8* data, u64 size, Page& page) : in_(data, size), page_(page) {}

  PQ_HD PageHeaderOutcome parse() {
    read_page_header();
    if (failed()) return outcome_;
    page_.header_bytes = static_cast<i32>(in_.position);
    const i64 total = static_cast<i64>(in_.position) + outcome_.compressed_page_size;
    if (total > 0x7fffffff) return fail(PageHeaderStatus::TOO_LARGE, Struct::PAGE_HEADER, 3);
    page_.total_bytes = static_cast<i32>(total);
    page_.known_from |= KNOWN_FROM_HEADER;
    return outcome_;
  }

 private:
  using Struct = PageHeaderStruct;

  ThriftReader in_;
  Page& page_;
  PageHeaderOutcome outcome_;

  PQ_HD bool failed() const { return outcome_.status != PageHeaderStatus::OK; }

  PQ_HD const PageHeaderOutcome& fail(PageHeaderStatus status, Struct in_struct, i32 field) {
    if (failed()) return outcome_;
    outcome_.status = status;
    outcome_.at_struct = in_struct;
    outcome_.at_field = field;
    outcome_.failed_at = in_.position;
    return outcome_;
  }

  // To be called after each field: keeps the first failure of the reader with its field.
  PQ_HD bool check(Struct in_struct, i32 field) {
    if (in_.ok() || failed()) return !failed();
    fail(PageHeaderStatus::THRIFT, in_struct, field);
    outcome_.thrift = in_.status;
    outcome_.failed_at = in_.failed_at;
    return false;
  }

  // An optional field: of another type on the wire it is passed over.
  PQ_HD bool usable(const ThriftField& field, ThriftType type) {
    const bool both_bool = type == ThriftType::BOOL_TRUE && field.type == ThriftType::BOOL_FALSE;
    if (field.type == type || both_bool) return true;
    ++outcome_.passed_over;
    in_.skip(field.type);
    return false;
  }

  // The header of the page's own type; that of another type is skipped.
  PQ_HD bool belongs(const ThriftField& field, i32 type, PageType expected) {
    if (type >= 0 && type != static_cast<i32>(expected)) {
      in_.skip(field.type);
      return false;
    }
    return in_.expect(field, ThriftType::STRUCT);
  }

  PQ_HD void require(u32 seen, u32 required, Struct in_struct) {
    if (failed() || (seen & required) == required) return;
    i32 field = 1;
    while ((required >> field & 1) == 0 || (seen >> field & 1) != 0) ++field;
    fail(PageHeaderStatus::MISSING, in_struct, field);
  }

  // A size or count.
  PQ_HD i32 read_count(const ThriftField& field, Struct in_struct) {
    const i32 value = in_.read_i32(field);
    if (value < 0 && in_.ok()) fail(PageHeaderStatus::NEGATIVE, in_struct, field.id);
    return value;
  }

  // An Encoding, as encoding_number() gives it back.
  PQ_HD i8 read_encoding(const ThriftField& field) {
    const i32 value = in_.read_i32(field);
    return static_cast<i8>(value >= 0 && value < 254 ? value : 254);
  }

  static PQ_HD u32 bit(i32 field) { return field > 0 && field < 32 ? 1u << field : 0u; }

  PQ_HD void read_page_header() {
    constexpr Struct here = Struct::PAGE_HEADER;
    u32 seen = 0;
    i32 type = -1;
    ThriftField field;
    while (in_.next_field(field)) {
      seen |= bit(field.id);
      switch (field.id) {
        case 1: type = in_.read_i32(field); break;
        case 2: page_.uncompressed_page_size = read_count(field, here); break;
        case 3: outcome_.compressed_page_size = read_count(field, here); break;
        case 4:
          if (usable(field, ThriftType::I32)) {
            page_.crc = static_cast<u32>(in_.read_zigzag());  // some write it unsigned
            page_.flags |= PAGE_HAS_CRC;
          }
          break;
        case 5:
          if (belongs(field, type, PageType::DATA_PAGE)) read_data_page_header();
          break;
        case 7:
          if (belongs(field, type, PageType::DICTIONARY_PAGE)) read_dictionary_page_header();
          break;
        case 8:
          if (belongs(field, type, PageType::DATA_PAGE_V2)) read_data_page_header_v2();
          break;
        default: in_.skip(field.type);
      }
      if (!check(here, field.id)) return;
    }
    check(here, 0);
    require(seen, bit(1) | bit(2) | bit(3), here);
    page_.type = type >= 0 && type <= 3 ? static_cast<PageType>(type) : PageType::UNKNOWN;
    switch (page_.type) {
      case PageType::DATA_PAGE: require(seen, bit(5), here); break;
      case PageType::DICTIONARY_PAGE: require(seen, bit(7), here); break;
      case PageType::DATA_PAGE_V2:
        require(seen, bit(8), here);
        check_levels();
        break;
      default: break;
    }
  }

  PQ_HD void check_levels() {
    if (failed()) return;
    const i64 levels =
        static_cast<i64>(page_.definition_levels_byte_length) + page_.repetition_levels_byte_length;
    if (levels > outcome_.compressed_page_size || levels > page_.uncompressed_page_size)
      fail(PageHeaderStatus::LEVELS_TOO_LONG, Struct::DATA_PAGE_HEADER_V2, 5);
  }

  PQ_HD void read_data_page_header() {
    constexpr Struct here = Struct::DATA_PAGE_HEADER;
    u32 seen = 0;
    ThriftField field;
    while (in_.next_field(field)) {
      seen |= bit(field.id);
      switch (field.id) {
        case 1: page_.num_values = read_count(field, here); break;
        case 2: page_.encoding = read_encoding(field); break;
        case 3: page_.definition_level_encoding = read_encoding(field); break;
        case 4: page_.repetition_level_encoding = read_encoding(field); break;
        case 5:
          if (usable(field, ThriftType::STRUCT)) read_statistics();
          break;
        default: in_.skip(field.type);
      }
      if (!check(here, field.id)) return;
    }
    check(here, 0);
    require(seen, bit(1) | bit(2) | bit(3) | bit(4), here);
  }

  PQ_HD void read_dictionary_page_header() {
    constexpr Struct here = Struct::DICTIONARY_PAGE_HEADER;
    u32 seen = 0;
    ThriftField field;
    while (in_.next_field(field)) {
      seen |= bit(field.id);
      switch (field.id) {
        case 1: page_.num_values = read_count(field, here); break;
        case 2: page_.encoding = read_encoding(field); break;
        default: in_.skip(field.type);
      }
      if (!check(here, field.id)) return;
    }
    check(here, 0);
    require(seen, bit(1) | bit(2), here);
  }

  PQ_HD void read_data_page_header_v2() {
    constexpr Struct here = Struct::DATA_PAGE_HEADER_V2;
    u32 seen = 0;
    ThriftField field;
    while (in_.next_field(field)) {
      seen |= bit(field.id);
      switch (field.id) {
        case 1: page_.num_values = read_count(field, here); break;
        case 2: page_.num_nulls = read_count(field, here); break;
        case 3: page_.num_rows = read_count(field, here); break;
        case 4: page_.encoding = read_encoding(field); break;
        case 5: page_.definition_levels_byte_length = read_count(field, here); break;
        case 6: page_.repetition_levels_byte_length = read_count(field, here); break;
        case 7:
          if (usable(field, ThriftType::BOOL_TRUE) && !in_.read_bool(field))
            page_.flags &= static_cast<u8>(~PAGE_IS_COMPRESSED);
          break;
        case 8:
          if (usable(field, ThriftType::STRUCT)) read_statistics();
          break;
        default: in_.skip(field.type);
      }
      if (!check(here, field.id)) return;
    }
    check(here, 0);
    require(seen, bit(1) | bit(2) | bit(3) | bit(4) | bit(5) | bit(6), here);
    constexpr i8 RLE = 3;
    page_.definition_level_encoding = page_.repetition_level_encoding = RLE;
  }

  PQ_HD_CALLED void read_statistics() {
    constexpr Struct here = Struct::STATISTICS;
    enum { MAX, MIN, MAX_VALUE, MIN_VALUE };
    ThriftSpan bounds[4];
    u32 seen = 0;
    i64 null_count = -1;
    ThriftField field;
    while (in_.next_field(field)) {
      switch (field.id) {
        case 1:
        case 2:
        case 5:
        case 6:
          if (usable(field, ThriftType::BINARY)) {
            bounds[field.id < 3 ? field.id - 1 : field.id - 3] = in_.read_binary(field);
            seen |= bit(field.id);
          }
          break;
        case 3:
          if (usable(field, ThriftType::I64)) null_count = in_.read_i64(field);
          break;
        case 7:
          if (usable(field, ThriftType::BOOL_TRUE))
            page_.flags |= in_.read_bool(field) ? PAGE_MAX_EXACT : PAGE_MAX_INEXACT;
          break;
        case 8:
          if (usable(field, ThriftType::BOOL_TRUE))
            page_.flags |= in_.read_bool(field) ? PAGE_MIN_EXACT : PAGE_MIN_INEXACT;
          break;
        default: in_.skip(field.type);
      }
      if (!check(here, field.id)) return;
    }
    check(here, 0);
    // v2 headers state num_nulls themselves; here it is only a statistic.
    if (page_.num_nulls < 0 && null_count >= 0 && null_count <= page_.num_values)
      page_.num_nulls = static_cast<i32>(null_count);
    const bool present = (seen & (bit(5) | bit(6))) != 0;
    const bool deprecated = !present && (seen & (bit(1) | bit(2))) != 0;
    page_.bounds_state = present      ? BoundsState::PRESENT
                         : deprecated ? BoundsState::DEPRECATED
                                      : BoundsState::ABSENT;
    if ((seen & bit(present ? 5 : 1)) != 0) set_max(bounds[present ? MAX_VALUE : MAX]);
    if ((seen & bit(present ? 6 : 2)) != 0) set_min(bounds[present ? MIN_VALUE : MIN]);
  }

  PQ_HD void set_min(ThriftSpan span) {
    page_.min_start = static_cast<i64>(span.start);
    page_.min_length = static_cast<i32>(span.size);
  }

  PQ_HD void set_max(ThriftSpan span) {
    page_.max_start = static_cast<i64>(span.start);
    page_.max_length = static_cast<i32>(span.size);
  }
};

PQ_HD PageHeaderOutcome parse_page_header(const u8* data, u64 size, Page& page) {
  return PageHeaderParser(data, size, page).parse();
}

}  // namespace pq
