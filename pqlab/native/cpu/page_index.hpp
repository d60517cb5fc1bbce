// The page index in bulk: offset indexes and column indexes of many chunks to rows of the page
// table, on several threads.
#pragma once
#include <string>
#include <vector>

#include "error.hpp"
#include "page.cuh"

namespace pq {

// Where the index of one chunk stands in the bytes given, and what its metadata says. The same
// layout is INDEXED_CHUNK in pqlab/footer/page_index.py.
struct IndexedChunk {
  i64 start;               // of the chunk in the file
  i64 stop;                // what no page may pass
  i64 dictionary_offset;   // of the dictionary page in the file; -1: none, or unknown
  i64 num_rows;            // of the row group
  i64 offset_index_start;  // in the bytes given
  i64 column_index_start;
  i32 offset_index_length;
  i32 column_index_length;  // 0: none
  i32 row_group;
  i32 leaf;
  u32 flags;
  u32 reserved;
};

static_assert(sizeof(IndexedChunk) == 72, "pqlab/footer/page_index.py has the same layout");

constexpr u32 CHUNK_IS_FLAT = 1;              // max_repetition_level is 0: a value per row
constexpr u32 CHUNK_MAY_HAVE_DICTIONARY = 2;  // a dictionary encoding is listed

// An index that contradicts itself, its chunk or its row group, and is therefore not used.
struct RefusedIndex {
  i64 chunk;
  bool is_offset_index;  // else the column index: the pages stay, without bounds
  i64 page;              // -2: none in particular
  std::string field;
  std::string message;
};

struct PageIndexResult {
  std::vector<RefusedIndex> refused;  // in the order of the chunks
  Page* pages = nullptr;              // malloc'd: the caller frees it
  u64 num_pages = 0;
};

// `data` holds all the spans. Writers of every age have left wrong page indexes: one that is
// refused costs its chunk the rows (or the bounds), not the file. Throws Error (Limit) for a chunk
// of more than `max_pages` pages.
PageIndexResult parse_page_index(const u8* data, u64 size, const IndexedChunk* chunks,
                                 u64 num_chunks, u64 max_pages, unsigned threads);

}  // namespace pq
