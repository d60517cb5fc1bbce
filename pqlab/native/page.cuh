// The row of the page table: what pqlab knows of one page. The same bytes are a numpy structured
// array in Python (pqlab/footer/page_table.py), an array of structs for the CPU engine, and what
// the GPU engine uploads.
#pragma once
#include "config.cuh"

namespace pq {

// PageHeader.type, as numbered in the specification.
enum class PageType : u8 {
  DATA_PAGE = 0,
  INDEX_PAGE = 1,
  DICTIONARY_PAGE = 2,
  DATA_PAGE_V2 = 3,
  UNKNOWN = 255
};

// Where the cells of a row were learned; bits of Page::known_from.
constexpr u8 KNOWN_FROM_INDEX = 1;   // the offset index or the column index
constexpr u8 KNOWN_FROM_HEADER = 2;  // the page header
constexpr u8 KNOWN_FROM_LEVELS = 4;  // the decoded levels

// Bits of Page::flags.
constexpr u8 PAGE_HAS_CRC = 1;
constexpr u8 PAGE_IS_COMPRESSED = 2;  // DataPageHeaderV2.is_compressed; set for every other page
constexpr u8 PAGE_MIN_EXACT = 4;      // is_min_value_exact is present and true
constexpr u8 PAGE_MAX_EXACT = 8;
constexpr u8 PAGE_MIN_INEXACT = 16;  // present and false
constexpr u8 PAGE_MAX_INEXACT = 32;
// 64 and 128: the CRC has been compared with the body, and is right, or wrong.

// Page::bounds_state; pqlab.footer.page_table.BoundsState has the same numbers.
enum class BoundsState : u8 { ABSENT = 0, PRESENT = 1, DEPRECATED = 2, EMPTY = 3, UNTRUSTED = 4 };

struct Page {
  i64 offset;     // of the page header, in the file
  i64 first_row;  // within the row group; -1: unknown
  i64 min_start;  // position of the minimum in the table's statistics buffer; -1: none
  i64 max_start;
  i32 min_length;
  i32 max_length;
  i32 row_group;
  i32 leaf;
  i32 page;                    // ordinal among the chunk's data pages; -1: the dictionary page
  i32 total_bytes;             // header and body, as PageLocation.compressed_page_size; -1: unknown
  i32 header_bytes;            // -1: unknown
  i32 uncompressed_page_size;  // of the body, as in the page header; -1: unknown
  i32 num_values;              // nulls included; -1: unknown
  i32 num_nulls;               // -1: unknown
  i32 num_rows;                // -1: unknown
  i32 definition_levels_byte_length;  // v2 only, else -1
  i32 repetition_levels_byte_length;  // v2 only, else -1
  u32 crc;
  PageType type;
  i8 encoding;  // the number's low byte, see encoding_number(); -1: unknown
  i8 definition_level_encoding;
  i8 repetition_level_encoding;
  u8 known_from;
  u8 flags;
  BoundsState bounds_state;
  u8 reserved;
};

// An Encoding as its page states it: 254 stands for any number from there on, or below 0.
PQ_HD i32 encoding_number(i8 encoding) { return static_cast<u8>(encoding); }

static_assert(sizeof(Page) == 96, "pqlab/footer/page_table.py has the same layout");

}  // namespace pq
