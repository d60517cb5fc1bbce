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

bool is_cut(const PageHeaderOutcome& outcome) {
  return outcome.status == PageHeaderStatus::THRIFT &&
         (outcome.thrift == ThriftStatus::TRUNCATED || outcome.thrift == ThriftStatus::TOO_LONG);
}

bool is_data(PageType type) {
  return type == PageType::DATA_PAGE || type == PageType::DATA_PAGE_V2;
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
    while (more_pages()) {
      if (s_.position >= window_stop_) return end(WalkEnd::WINDOW);
      const u8* header = window_ + (s_.position - start_);
      const i64 available = std::min(window_stop_, s_.hard_stop) - s_.position;
      Page page = unknown_page();
      const PageHeaderOutcome outcome =
          parse_page_header(header, static_cast<u64>(available), page);
      if (is_cut(outcome) && window_stop_ < s_.hard_stop) return end(WalkEnd::HEADER_CUT);
      if (is_beyond(outcome, page)) break;
      check(outcome, page);
      result_.passed_over_fields += outcome.passed_over;
      add(page, header);
      s_.position += page.total_bytes;
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

  bool all_values_seen() const { return s_.num_values > 0 && s_.values_left == 0; }

  // Old writers leave the dictionary page's header out of a chunk's size: values that are missing
  // at `stop` may follow within the slack up to `hard_stop`.
  bool more_pages() const {
    if (s_.position < s_.stop) return true;
    return s_.has_dictionary && s_.num_values > 0 && s_.values_left > 0 &&
           s_.position < s_.hard_stop;
  }

  // True if what stands here is not the chunk's: its values are all seen, or its size is. A size
  // that is too large leads into the next chunk.
  bool is_beyond(const PageHeaderOutcome& outcome, const Page& page) {
    const bool bad =
        outcome.status != PageHeaderStatus::OK || s_.position + page.total_bytes > s_.hard_stop;
    if (all_values_seen()) {
      const bool empty = !bad && page.num_values <= 0 && page.type != PageType::DICTIONARY_PAGE;
      if (empty) return false;
      result_.warning = "the chunk's size holds more than the pages of its num_values";
      return true;
    }
    return bad && s_.position >= s_.stop;
  }

  void check(const PageHeaderOutcome& outcome, const Page& page) const {
    if (outcome.status != PageHeaderStatus::OK)
      throw placed(page_header_error(outcome, s_.position));
    const i64 page_stop = s_.position + page.total_bytes;
    const bool uses_slack = page_stop > s_.stop;
    const bool completes = s_.has_dictionary && s_.num_values > 0 && is_data(page.type) &&
                           page.num_values == s_.values_left;
    if (page_stop > s_.hard_stop || (uses_slack && !completes)) {
      throw placed(Error(
          ErrorKind::Corrupt,
          "the page ends " + std::to_string(page_stop - s_.stop) + " bytes beyond its column chunk",
          "PageHeader.compressed_page_size", s_.position));
    }
    if (page.type == PageType::DICTIONARY_PAGE && (s_.has_dictionary || s_.page != 0)) {
      throw placed(Error(ErrorKind::Corrupt,
                         s_.has_dictionary ? "a second dictionary page in the column chunk"
                                           : "a dictionary page behind data pages",
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
    const bool dictionary = page.type == PageType::DICTIONARY_PAGE;
    if (page.type == PageType::UNKNOWN) ++result_.unknown_pages;
    if (!dictionary && !is_data(page.type)) return;
    page.offset = s_.position;
    page.row_group = s_.row_group;
    page.leaf = s_.leaf;
    page.page = dictionary ? -1 : s_.page;
    page.min_start = keep(result_.statistics, header, page.min_start, page.min_length);
    page.max_start = keep(result_.statistics, header, page.max_start, page.max_length);
    if (dictionary) {
      s_.has_dictionary = true;
    } else {
      if (page.type == PageType::DATA_PAGE && s_.flat) page.num_rows = page.num_values;
      page.first_row = s_.first_row;
      const bool counts_rows = page.num_rows >= 0 && s_.first_row >= 0;
      s_.first_row = counts_rows ? s_.first_row + page.num_rows : -1;
      s_.values_left -= page.num_values;
      ++s_.page;
    }
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
