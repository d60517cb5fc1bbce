#include "page_walk.hpp"

#include "thrift_text.hpp"

namespace pq {
namespace {

constexpr const char* STRUCTS[] = {"PageHeader", "DataPageHeader", "DictionaryPageHeader",
                                   "DataPageHeaderV2", "Statistics"};
constexpr int MAX_FIELD = 9;
constexpr const char* FIELDS[][MAX_FIELD + 1] = {
    {nullptr, "type", "uncompressed_page_size", "compressed_page_size", "crc", "data_page_header",
     "index_page_header", "dictionary_page_header", "data_page_header_v2"},
    {nullptr, "num_values", "encoding", "definition_level_encoding", "repetition_level_encoding",
     "statistics"},
    {nullptr, "num_values", "encoding", "is_sorted"},
    {nullptr, "num_values", "num_nulls", "num_rows", "encoding", "definition_levels_byte_length",
     "repetition_levels_byte_length", "is_compressed", "statistics"},
    {nullptr, "max", "min", "null_count", "distinct_count", "max_value", "min_value",
     "is_max_value_exact", "is_min_value_exact", "nan_count"},
};

std::string field_name(PageHeaderStruct in_struct, i32 field) {
  const int row = static_cast<int>(in_struct);
  const bool known = field > 0 && field <= MAX_FIELD && FIELDS[row][field] != nullptr;
  std::string name = STRUCTS[row];
  if (known) return name + "." + FIELDS[row][field];
  return field == 0 ? name : name + "." + std::to_string(field);
}

const char* text(const PageHeaderOutcome& outcome) {
  switch (outcome.status) {
    case PageHeaderStatus::OK: return "no error";
    case PageHeaderStatus::THRIFT: return thrift_text(outcome.thrift);
    case PageHeaderStatus::MISSING: return "the required field is absent";
    case PageHeaderStatus::NEGATIVE: return "a negative number";
    case PageHeaderStatus::TOO_LARGE: return "header and page together pass 2 GiB";
    case PageHeaderStatus::LEVELS_TOO_LONG: return "the levels are longer than the page";
  }
  return "unknown";
}

// Copies a bound's bytes behind those of the pages before; returns where they now start.
i64 keep(std::vector<u8>& statistics, const u8* header, i64 start, i32 length) {
  if (start < 0) return -1;
  const i64 kept = static_cast<i64>(statistics.size());
  statistics.insert(statistics.end(), header + start, header + start + length);
  return kept;
}

class Walker {
 public:
  Walker(const u8* window, u64 size, i64 start, WalkState& state)
      : window_(window), window_stop_(start + static_cast<i64>(size)), start_(start), s_(state) {}

  WalkResult walk() {
    while (more_pages(s_)) {
      if (s_.position >= window_stop_) return end(WalkEnd::WINDOW);
      const u8* header = window_ + (s_.position - start_);
      const i64 available = std::min(window_stop_, s_.hard_stop) - s_.position;
      Page page = unknown_page();
      const PageHeaderOutcome outcome =
          parse_page_header(header, static_cast<u64>(available), page);
      if (is_cut(outcome) && window_stop_ < s_.hard_stop) return end(WalkEnd::HEADER_CUT);
      if (ends_before(s_, outcome, page)) {
        if (all_values_seen(s_)) {
          result_.warning = "the chunk's size holds more than the pages of its num_values";
        }
        break;
      }
      check(outcome, page);
      result_.passed_over_fields += outcome.passed_over;
      add(page, header);
    }
    return end(WalkEnd::DONE);
  }

 private:
  const u8* window_;
  i64 window_stop_;
  i64 start_;
  WalkState& s_;
  WalkResult result_;

  WalkResult end(WalkEnd how) {
    result_.end = how;
    return std::move(result_);
  }

  void check(const PageHeaderOutcome& outcome, const Page& page) const {
    if (outcome.status != PageHeaderStatus::OK)
      throw placed(page_header_error(outcome, s_.position));
    switch (fault_of(s_, page)) {
      case PageFault::NONE: return;
      case PageFault::BEYOND_CHUNK: {
        const i64 beyond = s_.position + page.total_bytes - s_.stop;
        throw placed(
            Error(ErrorKind::Corrupt,
                  "the page ends " + std::to_string(beyond) + " bytes beyond its column chunk",
                  "PageHeader.compressed_page_size", s_.position));
      }
      case PageFault::SECOND_DICTIONARY:
        throw placed(Error(ErrorKind::Corrupt, "a second dictionary page in the column chunk",
                           "PageHeader.type", s_.position));
      case PageFault::LATE_DICTIONARY:
        throw placed(Error(ErrorKind::Corrupt, "a dictionary page behind data pages",
                           "PageHeader.type", s_.position));
    }
  }

  Error placed(Error error) const {
    error.row_group = s_.row_group;
    error.leaf = s_.leaf;
    error.page = s_.page;
    return error;
  }

  void add(Page& page, const u8* header) {
    if (page.type == PageType::UNKNOWN) ++result_.unknown_pages;
    if (!take_page(s_, page)) return;
    page.min_start = keep(result_.statistics, header, page.min_start, page.min_length);
    page.max_start = keep(result_.statistics, header, page.max_start, page.max_length);
    result_.pages.push_back(page);
  }
};

}  // namespace

Error page_header_error(const PageHeaderOutcome& outcome, i64 header_offset) {
  return Error(ErrorKind::Corrupt, text(outcome), field_name(outcome.at_struct, outcome.at_field),
               header_offset + static_cast<i64>(outcome.failed_at));
}

WalkResult walk_page_headers(const u8* window, u64 window_size, i64 window_start,
                             WalkState& state) {
  return Walker(window, window_size, window_start, state).walk();
}

}  // namespace pq
