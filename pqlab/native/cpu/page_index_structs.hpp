// The structs OffsetIndex and ColumnIndex of one chunk, to rows of the page table. What contradicts
// itself, its chunk or its row group throws Error (Corrupt) with field, page and position.
#pragma once
#include "page_index.hpp"
#include "thrift.cuh"

namespace pq {

// Moves to the first element of OffsetIndex.page_locations; returns their number.
u64 find_locations(ThriftReader& in);

// The offset of the location that `in` stands at.
i64 first_page_offset(ThriftReader& in);

// `in` stands at the first of `count` locations, one for each of `pages`.
void read_offset_index(ThriftReader& in, const IndexedChunk& chunk, Page* pages, u64 count);

// The dictionary page stands first in its chunk: up to the first data page.
bool has_dictionary_row(const IndexedChunk& chunk, i64 first_data_page);
Page dictionary_row(const IndexedChunk& chunk, i64 first_data_page);

// Nulls and bounds, into rows that the offset index made; half done where it throws.
void read_column_index(const ThriftReader& in, Page* pages, u64 count);

// Takes back what read_column_index did.
void forget_column_index(Page* pages, u64 count);

}  // namespace pq
