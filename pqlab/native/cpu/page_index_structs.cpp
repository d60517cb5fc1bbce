#include "page_index_structs.hpp"

#include "page_header.cuh"
#include "thrift_text.hpp"

namespace pq {
namespace {

constexpr u64 MIN_LOCATION_BYTES = 7;  // three fields of two bytes and the stop

constexpr const char* LOCATION_FIELDS[] = {"PageLocation", "PageLocation.offset",
                                           "PageLocation.compressed_page_size",
                                           "PageLocation.first_row_index"};

[[noreturn]] void corrupt(const char* field, const std::string& message, u64 where, i64 page = -2) {
  Error error(ErrorKind::Corrupt, message, field, static_cast<i64>(where));
  error.page = page;
  throw error;
}

void check(const ThriftReader& in, const char* field, i64 page = -2) {
  if (!in.ok()) corrupt(field, thrift_text(in.status), in.failed_at, page);
}

// ------------------------------------------------------------------------------- offset index

struct Location {
  i64 offset;
  i64 size;
  i64 first_row;
};

// The bytes that every writer produces: the three fields in order, then the stop.
bool read_usual_location(ThriftReader& in, Location& location) {
  const u64 start = in.position;
  if (in.read_byte() == 0x16) {
    location.offset = in.read_zigzag();
    if (in.read_byte() == 0x15) {
      location.size = in.read_zigzag();
      if (in.read_byte() == 0x16) {
        location.first_row = in.read_zigzag();
        if (in.read_byte() == 0 && in.ok()) return true;
      }
    }
  }
  if (in.ok()) in.position = start;
  return false;
}

void read_location(ThriftReader& in, Location& location, i64 page) {
  if (read_usual_location(in, location)) return;
  check(in, LOCATION_FIELDS[0], page);
  unsigned seen = 0;
  ThriftField field;
  while (in.next_field(field)) {
    switch (field.id) {
      case 1: location.offset = in.read_i64(field); break;
      case 2: location.size = in.read_i32(field); break;
      case 3: location.first_row = in.read_i64(field); break;
      default: in.skip(field.type); continue;
    }
    check(in, LOCATION_FIELDS[field.id], page);
    seen |= 1u << field.id;
  }
  check(in, LOCATION_FIELDS[0], page);
  for (int id = 1; id <= 3; ++id) {
    if ((seen >> id & 1) == 0) {
      corrupt(LOCATION_FIELDS[id], "the required field is absent", in.position, page);
    }
  }
}

// Pages follow each other without gaps, from row 0 on, and fill their chunk: an index that does not
// say so was written wrong (sizes without headers, rows counted in values, pages of offset -1).
void check_location(const IndexedChunk& chunk, const Location& location, const Location& before,
                    i64 page, u64 where) {
  const i64 previous_stop = before.offset + before.size;
  if (location.size <= 0 || location.size > 0x7fffffff)
    corrupt(LOCATION_FIELDS[2], "a size of " + std::to_string(location.size), where, page);
  if (location.offset < chunk.start || location.offset > chunk.stop - location.size) {
    corrupt(LOCATION_FIELDS[1],
            "bytes " + std::to_string(location.offset) + " and " + std::to_string(location.size) +
                " more lie outside of the column chunk",
            where, page);
  }
  if (page > 0 && location.offset != previous_stop)
    corrupt(LOCATION_FIELDS[1],
            "at byte " + std::to_string(location.offset) + ", the page before ends at " +
                std::to_string(previous_stop),
            where, page);
  if (page == 0 ? location.first_row != 0 : location.first_row <= before.first_row)
    corrupt(LOCATION_FIELDS[3],
            "row " + std::to_string(location.first_row) + " does not follow the page before", where,
            page);
  if (location.first_row > chunk.num_rows)
    corrupt(LOCATION_FIELDS[3],
            "row " + std::to_string(location.first_row) + " of a row group of " +
                std::to_string(chunk.num_rows) + " rows",
            where, page);
}

void set_rows(Page& page, i64 stop_row, bool flat) {
  const i64 rows = stop_row - page.first_row;
  page.num_rows = rows <= 0x7fffffff ? static_cast<i32>(rows) : -1;
  if (flat) page.num_values = page.num_rows;
}

// ------------------------------------------------------------------------------- column index

// ColumnIndex, into rows that the offset index made. What it holds is optional: a contradiction
// throws, and the caller takes the bounds back.
class ColumnIndexReader {
 public:
  ColumnIndexReader(const ThriftReader& in, Page* pages, u64 count)
      : in_(in), pages_(pages), count_(count) {}

  void read() {
    unsigned seen = 0;
    ThriftField field;
    while (in_.next_field(field)) {
      switch (field.id) {
        case 1: read_null_pages(field); break;
        case 2:
          read_bounds(field, "ColumnIndex.min_values", &Page::min_start, &Page::min_length);
          break;
        case 3:
          read_bounds(field, "ColumnIndex.max_values", &Page::max_start, &Page::max_length);
          break;
        case 5: read_null_counts(field); break;
        default: in_.skip(field.type); continue;
      }
      seen |= 1u << field.id;
    }
    check(in_, "ColumnIndex");
    constexpr const char* required[] = {"ColumnIndex.null_pages", "ColumnIndex.min_values",
                                        "ColumnIndex.max_values"};
    for (int id = 1; id <= 3; ++id) {
      if ((seen >> id & 1) == 0)
        corrupt(required[id - 1], "the required field is absent", in_.position);
    }
    settle();
  }

 private:
  ThriftReader in_;
  Page* pages_;
  u64 count_;

  void read_list(const ThriftField& field, ThriftType element, const char* name) {
    const u64 start = in_.position;
    const u64 size = in_.read_list(field, element).size;
    check(in_, name);
    if (size != count_) {
      corrupt(name, std::to_string(size) + " elements for " + std::to_string(count_) + " pages",
              start);
    }
  }

  void read_null_pages(const ThriftField& field) {
    read_list(field, ThriftType::BOOL_TRUE, "ColumnIndex.null_pages");
    for (u64 i = 0; i < count_; ++i) {
      const bool is_null = in_.read_byte() == 1;
      pages_[i].bounds_state = is_null ? BoundsState::EMPTY : BoundsState::PRESENT;
    }
    check(in_, "ColumnIndex.null_pages");
  }

  void read_bounds(const ThriftField& field, const char* name, i64 Page::* start,
                   i32 Page::* length) {
    read_list(field, ThriftType::BINARY, name);
    for (u64 i = 0; i < count_; ++i) {
      const ThriftSpan span = in_.read_binary();
      pages_[i].*start = static_cast<i64>(span.start);
      pages_[i].*length = static_cast<i32>(span.size);
    }
    check(in_, name);
  }

  void read_null_counts(const ThriftField& field) {
    constexpr const char* name = "ColumnIndex.null_counts";
    read_list(field, ThriftType::I64, name);
    for (u64 i = 0; i < count_; ++i) {
      const i64 nulls = in_.read_zigzag();  // some write -1 for a number that they do not know
      pages_[i].num_nulls = nulls >= 0 && nulls <= 0x7fffffff ? static_cast<i32>(nulls) : -1;
    }
    check(in_, name);
  }

  // The bounds of a page of nulls mean nothing.
  void settle() {
    for (u64 i = 0; i < count_; ++i) {
      Page& page = pages_[i];
      if (page.bounds_state != BoundsState::EMPTY) continue;
      page.min_start = page.max_start = -1;
      page.min_length = page.max_length = 0;
    }
  }
};

}  // namespace

u64 find_locations(ThriftReader& in) {
  constexpr const char* name = "OffsetIndex.page_locations";
  ThriftField field;
  while (in.next_field(field)) {
    if (field.id == 1) {
      const u64 start = in.position;
      const u64 count = in.read_list(field, ThriftType::STRUCT).size;
      check(in, name);
      if (count > in.left() / MIN_LOCATION_BYTES) {
        corrupt(name, std::to_string(count) + " pages in " + std::to_string(in.left()) + " bytes",
                start);
      }
      return count;
    }
    in.skip(field.type);
  }
  check(in, "OffsetIndex");
  corrupt(name, "the required field is absent", in.position);
}

i64 first_page_offset(ThriftReader& in) {
  Location first{};
  read_location(in, first, 0);
  return first.offset;
}

void read_offset_index(ThriftReader& in, const IndexedChunk& chunk, Page* pages, u64 count) {
  const bool flat = (chunk.flags & CHUNK_IS_FLAT) != 0;
  Page blank = unknown_page();
  blank.row_group = chunk.row_group;
  blank.leaf = chunk.leaf;
  blank.known_from = KNOWN_FROM_INDEX;
  Location before{chunk.start, 0, 0};
  for (u64 i = 0; i < count; ++i) {
    const u64 where = in.position;
    Location location{};
    read_location(in, location, static_cast<i64>(i));
    check_location(chunk, location, before, static_cast<i64>(i), where);
    Page& page = pages[i];
    page = blank;
    page.page = static_cast<i32>(i);
    page.offset = location.offset;
    page.total_bytes = static_cast<i32>(location.size);
    page.first_row = location.first_row;
    if (i > 0) set_rows(pages[i - 1], location.first_row, flat);
    before = location;
  }
  set_rows(pages[count - 1], chunk.num_rows, flat);
  if (before.offset + before.size != chunk.stop)
    corrupt(LOCATION_FIELDS[2],
            "the last page ends at byte " + std::to_string(before.offset + before.size) +
                ", the column chunk at " + std::to_string(chunk.stop),
            in.position, static_cast<i64>(count) - 1);
}

bool has_dictionary_row(const IndexedChunk& chunk, i64 first_data_page) {
  if (chunk.dictionary_offset >= 0) return true;
  return (chunk.flags & CHUNK_MAY_HAVE_DICTIONARY) != 0 && first_data_page > chunk.start;
}

Page dictionary_row(const IndexedChunk& chunk, i64 first_data_page) {
  Page page = unknown_page();
  page.row_group = chunk.row_group;
  page.leaf = chunk.leaf;
  page.page = -1;
  page.type = PageType::DICTIONARY_PAGE;
  page.known_from = KNOWN_FROM_INDEX;
  page.offset = chunk.dictionary_offset >= 0 ? chunk.dictionary_offset : chunk.start;
  const i64 bytes = first_data_page - page.offset;
  if (bytes > 0 && bytes <= 0x7fffffff) page.total_bytes = static_cast<i32>(bytes);
  return page;
}

void read_column_index(const ThriftReader& in, Page* pages, u64 count) {
  ColumnIndexReader(in, pages, count).read();
}

void forget_column_index(Page* pages, u64 count) {
  for (u64 i = 0; i < count; ++i) {
    pages[i].min_start = pages[i].max_start = -1;
    pages[i].min_length = pages[i].max_length = 0;
    pages[i].num_nulls = -1;
    pages[i].bounds_state = BoundsState::ABSENT;
  }
}

}  // namespace pq
