// Every kernel of the GPU engine, by name. What they do is in listing.cuh (a warp a page, for what
// only the values before tell), emit.cuh (a block a tile of rows, for all the rest) and nested.cuh
// (a warp a tile of entries).
#include "../native/lz4.cuh"
#include "../native/snappy.cuh"
#include "device.cuh"
#include "emit.cuh"
#include "frames.cuh"
#include "headers.cuh"
#include "listing.cuh"
#include "nested.cuh"
#include "prefixes.cuh"
#include "strings.cuh"
#include "views.cuh"
#include "words.cuh"

using namespace pq;

// Of every listing kernel: the pages that it is for.
#define PQ_PAGES const PageWork *works, const u32 *pages, u32 count, StatusWord *errors

// Of those that list values.
#define PQ_STATES PQ_PAGES, PageState* states
#define PQ_VALUES PQ_STATES, const u8 *bytes, u8 *records

// Of every emit kernel.
#define PQ_DECODED                                                                    \
  const PageWork *works, const PageState *states, const Tile *tiles, const u8 *bytes, \
      const u8 *bitmaps, const u32 *ranks, const u8 *records, const u8 *entries,      \
      const u32 *positions

#define PQ_DECODED_VALUES \
  Decoded { works, states, tiles, bytes, bitmaps, ranks, records, entries, positions }

// Of kernels over tiles of entries.
#define PQ_TILES const PageWork *works, const Tile *tiles, u32 count, const u16 *levels

extern "C" {

__global__ void walk_headers(Walk* walks, u32 count, const u8* bytes, Page* pages) {
  PQ_SHARED(HeaderWindow, windows, WARPS_OF_LISTING);
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  walk_chunk(walks[ordinal], bytes, windows[threadIdx.x / Warp::SIZE], pages);
}
PQ_EXPORT(walk_headers)

// `wrong`: of each page whether its header is.
__global__ void read_headers(const HeaderPlace* places, u32 count, const u8* bytes, Page* pages,
                             u8* wrong) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Page page;
  wrong[i] = read_header(bytes, places[i], page) ? 0 : 1;
  pages[i] = page;
}
PQ_EXPORT(read_headers)

__global__ void decompress_snappy(PQ_PAGES, const Block* blocks, u8* bytes) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork&) {
    const Block block = blocks[page];
    return snappy_decompress(Warp{}, bytes + block.from, block.from_bytes, bytes + block.to,
                             block.to_bytes);
  });
}
PQ_EXPORT(decompress_snappy)

__global__ void decompress_lz4(PQ_PAGES, const Block* blocks, u8* bytes) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork&) {
    const Block block = blocks[page];
    return lz4_raw_decompress(Warp{}, bytes + block.from, block.from_bytes, bytes + block.to,
                              block.to_bytes);
  });
}
PQ_EXPORT(decompress_lz4)

// `bitmaps` are zero before.
__global__ void read_levels(PQ_PAGES, const u8* bytes, u8* bitmaps, u32* ranks, PageState* states) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork& work) {
    PageState state;
    const StatusWord word = list_validity(work, bytes, bitmaps, ranks, state);
    if (Warp::leader()) states[page] = state;
    return word;
  });
}
PQ_EXPORT(read_levels)

// `errors`: of repetition levels; `needed`: of each depth its list's level.
__global__ void read_nested_levels(PQ_PAGES, StatusWord* definition_errors,
                                   StatusWord* order_errors, const u32* needed, const u8* bytes,
                                   u16* levels, PageState* states, NestedEnds* ends) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork& work) {
    PageState state = whole_page(work);
    NestedEnds found{};
    StatusWord* wrong_in = errors;
    StatusWord word = list_repetition(work, bytes, levels, state);
    if (word == STATUS_OK) {
      wrong_in = definition_errors;
      word = list_definition(work, bytes, levels, state);
    }
    const PageLevels page_levels(work, levels);
    if (word == STATUS_OK) {
      wrong_in = order_errors;
      word = check_order(work, page_levels, needed);
    }
    state.num_valid = 0;
    if (word == STATUS_OK) found = count_page(work, page_levels, state.num_valid);
    if (Warp::leader()) {
      states[page] = state;
      ends[page] = found;
      if (word != STATUS_OK) atomicMin(&wrong_in[page], word);
    }
    return STATUS_OK;
  });
}
PQ_EXPORT(read_nested_levels)

__global__ void check_sizes(PQ_STATES) {
  with_values(works, pages, count, errors, states,
              [&](const PageWork& work, PageState& state) { return check_size(work, state); });
}
PQ_EXPORT(check_sizes)

__global__ void check_booleans(PQ_STATES) {
  with_values(works, pages, count, errors, states,
              [&](const PageWork&, PageState& state) { return check_bits(state); });
}
PQ_EXPORT(check_booleans)

__global__ void read_indices(PQ_VALUES) {
  with_values(works, pages, count, errors, states, [&](const PageWork& work, PageState& state) {
    return list_indices(work, state, bytes, reinterpret_cast<u32*>(records + work.records));
  });
}
PQ_EXPORT(read_indices)

// `records` are zero before.
__global__ void read_booleans(PQ_VALUES) {
  with_values(works, pages, count, errors, states, [&](const PageWork& work, PageState& state) {
    return list_booleans(state, bytes, records + work.records);
  });
}
PQ_EXPORT(read_booleans)

__global__ void read_strings(PQ_VALUES) {
  PQ_SHARED(StringWindow, windows, WARPS_OF_LISTING);
  with_values(works, pages, count, errors, states, [&](const PageWork& work, PageState& state) {
    return list_strings(bytes + state.values, state.values_bytes, state.num_valid,
                        reinterpret_cast<StringRecord*>(records + work.records),
                        windows[threadIdx.x / Warp::SIZE]);
  });
}
PQ_EXPORT(read_strings)

__global__ void read_lengths(PQ_VALUES) {
  with_values(works, pages, count, errors, states, [&](const PageWork& work, PageState& state) {
    return list_delta_lengths(bytes, state,
                              reinterpret_cast<StringRecord*>(records + work.records));
  });
}
PQ_EXPORT(read_lengths)

// `sizes` are zero before.
__global__ void read_prefixes(PQ_VALUES, JoinedSizes* sizes) {
  with_page(works, pages, count, errors, [&](u32 page, const PageWork& work) {
    PageState state = states[page];
    JoinedSizes joined{};
    auto* found = reinterpret_cast<StringRecord*>(records + work.records);
    const StatusWord word =
        state.num_valid == 0 ? STATUS_OK : list_prefixes(work, bytes, state, found, joined);
    if (word != STATUS_OK) state.num_valid = 0;
    Warp::sync();
    if (Warp::leader()) {
      states[page] = state;
      sizes[page] = joined;
    }
    return word;
  });
}
PQ_EXPORT(read_prefixes)

// Numbers, dense: `list(bytes, size, count, out)`.
#define PQ_READ_NUMBERS(name, T, list)                                                             \
  __global__ void name(PQ_VALUES) {                                                                \
    with_values(works, pages, count, errors, states, [&](const PageWork& work, PageState& state) { \
      return list(bytes + state.values, state.values_bytes, state.num_valid,                       \
                  reinterpret_cast<T*>(records + work.records));                                   \
    });                                                                                            \
  }                                                                                                \
  PQ_EXPORT(name)

PQ_READ_NUMBERS(read_deltas_4, u32, list_deltas)
PQ_READ_NUMBERS(read_deltas_8, u64, list_deltas)
PQ_READ_NUMBERS(read_alp_4, float, list_alp)
PQ_READ_NUMBERS(read_alp_8, double, list_alp)

// Pages whose values are put together first: from `bytes`, as `states` say, to where
// `joined_states` say in `joined`.
#define PQ_JOINED                                                                 \
  const PageWork *works, const PageState *states, const PageState *joined_states, \
      const Tile *tiles, const u8 *bytes, const u8 *records, u8 *joined

__global__ void join_prefixes(PQ_JOINED) {
  const Tile tile = tiles[blockIdx.x];
  join_tile(works, states, tile, bytes, records, joined + joined_states[tile.page].values);
}
PQ_EXPORT(join_prefixes)

__global__ void join_streams(PQ_JOINED) {
  const Tile tile = tiles[blockIdx.x];
  const PageState state = states[tile.page];
  const u32 width = works[tile.page].width;
  const u64 stream = state.values_bytes / width;
  const u8* from = bytes + state.values;
  u8* out = joined + joined_states[tile.page].values;
  for (u64 i = threadIdx.x; i < static_cast<u64>(tile.count) * width; i += blockDim.x) {
    const u64 rank = tile.first + i / width;
    if (rank < state.num_valid) out[rank * width + i % width] = from[i % width * stream + rank];
  }
  (void)records;
}
PQ_EXPORT(join_streams)

// Values of one width, from one source, to what the output holds.
#define PQ_EMIT(name, Raw, Source, Convert)                                          \
  __global__ void name(PQ_DECODED, typename Convert::Out* out, StatusWord* errors) { \
    emit_numbers<Raw, Source<Raw>, Convert>(PQ_DECODED_VALUES, out, errors);         \
  }                                                                                  \
  PQ_EXPORT(name)

// PLAIN, BYTE_STREAM_SPLIT, and numbers that a read_ kernel made.
#define PQ_EMIT_NUMBERS(kind, Raw, Convert)                \
  PQ_EMIT(emit_plain_##kind, Raw, PlainSource, Convert)    \
  PQ_EMIT(emit_streams_##kind, Raw, StreamSource, Convert) \
  PQ_EMIT(emit_records_##kind, Raw, RecordSource, Convert)

using TimeMilliseconds = TimeOfDay<i32, 86'400'000>;
using TimeMicroseconds = TimeOfDay<i64, 86'400'000'000>;
using TimeNanoseconds = TimeOfDay<i64, 86'400'000'000'000>;

PQ_EMIT_NUMBERS(4, u32, Same<u32>)
PQ_EMIT_NUMBERS(8, u64, Same<u64>)
PQ_EMIT_NUMBERS(int8, u32, NarrowInteger<i8>)
PQ_EMIT_NUMBERS(uint8, u32, NarrowInteger<u8>)
PQ_EMIT_NUMBERS(int16, u32, NarrowInteger<i16>)
PQ_EMIT_NUMBERS(uint16, u32, NarrowInteger<u16>)
PQ_EMIT_NUMBERS(time_ms, u32, TimeMilliseconds)
PQ_EMIT_NUMBERS(time_us, u64, TimeMicroseconds)
PQ_EMIT_NUMBERS(time_ns, u64, TimeNanoseconds)
PQ_EMIT_NUMBERS(decimal_int32, u32, DecimalInteger<i32>)
PQ_EMIT_NUMBERS(decimal_int64, u64, DecimalInteger<i64>)
PQ_EMIT(emit_plain_12, Words3, PlainSource, Same<Words3>)
PQ_EMIT(emit_plain_16, Words4, PlainSource, Same<Words4>)
PQ_EMIT(emit_plain_int96_ns, Words3, PlainSource, Int96Nanoseconds)
PQ_EMIT(emit_plain_int96_us, Words3, PlainSource, Int96Microseconds)

// Entries of the dictionary, of any width that outputs have.
PQ_EMIT(emit_entries_1, u8, EntrySource, Same<u8>)
PQ_EMIT(emit_entries_2, u16, EntrySource, Same<u16>)
PQ_EMIT(emit_entries_4, u32, EntrySource, Same<u32>)
PQ_EMIT(emit_entries_8, u64, EntrySource, Same<u64>)
PQ_EMIT(emit_entries_12, Words3, EntrySource, Same<Words3>)
PQ_EMIT(emit_entries_16, Words4, EntrySource, Same<Words4>)

__global__ void emit_plain_bytes(PQ_DECODED, u8* out, StatusWord*) {
  emit_bytes(PQ_DECODED_VALUES, false, out);
}
PQ_EXPORT(emit_plain_bytes)

__global__ void emit_streams_bytes(PQ_DECODED, u8* out, StatusWord*) {
  emit_bytes(PQ_DECODED_VALUES, true, out);
}
PQ_EXPORT(emit_streams_bytes)

__global__ void emit_decimal_bytes(PQ_DECODED, Int128* out, StatusWord* errors) {
  emit_decimals<RecordBytes>(PQ_DECODED_VALUES, out, errors);
}
PQ_EXPORT(emit_decimal_bytes)

__global__ void emit_decimal_fixed(PQ_DECODED, Int128* out, StatusWord* errors) {
  emit_decimals<FixedBytes>(PQ_DECODED_VALUES, out, errors);
}
PQ_EXPORT(emit_decimal_fixed)

#define PQ_EMIT_VIEWS(name, Source, text)                                      \
  __global__ void name(PQ_DECODED, View* out, StatusWord* errors, u32* used) { \
    emit_byte_arrays<Source>(PQ_DECODED_VALUES, text, out, used, errors);      \
  }                                                                            \
  PQ_EXPORT(name)

PQ_EMIT_VIEWS(emit_views, RecordBytes, false)
PQ_EMIT_VIEWS(emit_text, RecordBytes, true)
PQ_EMIT_VIEWS(emit_fixed_views, FixedBytes, false)

// Bitmaps of the output, as words, zero before.
__global__ void emit_validity(PQ_DECODED, u32* out, StatusWord*) {
  const Decoded decoded = PQ_DECODED_VALUES;
  const Tile tile = tiles[blockIdx.x];
  emit_word_bits(tile, out, [&](u32 i) { return place_of(decoded, tile, i).valid; });
}
PQ_EXPORT(emit_validity)

__global__ void emit_booleans(PQ_DECODED, u32* out, StatusWord*) {
  const Decoded decoded = PQ_DECODED_VALUES;
  const Tile tile = tiles[blockIdx.x];
  emit_word_bits(tile, out, [&](u32 i) {
    const Place place = place_of(decoded, tile, i);
    return place.valid && boolean(decoded, works[tile.page], states[tile.page], place.rank);
  });
}
PQ_EXPORT(emit_booleans)

// Entries of a dictionary of booleans, a byte each.
__global__ void emit_boolean_entries(PQ_DECODED, u8* out, StatusWord* errors) {
  const Decoded decoded = PQ_DECODED_VALUES;
  emit_tile(decoded, out, errors, Status::RANGE,
            [&](const PageWork& work, const PageState& state, u64 rank, u8& value) {
              value = boolean(decoded, work, state, rank) ? 1 : 0;
              return true;
            });
}
PQ_EXPORT(emit_boolean_entries)

__global__ void count_entries(PQ_TILES, NestedCounts* counts) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  const PageWork& work = works[tile.page];
  const NestedCounts found = count_tile(work, PageLevels(work, levels), tile);
  if (Warp::leader()) counts[ordinal] = found;
}
PQ_EXPORT(count_entries)

// `num_kept` of `kept` from `first_kept[page]` on are the page's; `before`: what is in the page's
// tiles before each tile; `words`: 32 a tile.
__global__ void mark_entries(PQ_TILES, const Kept* kept, const u32* first_kept, const u32* num_kept,
                             const NestedCounts* before, u32* words) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  mark_kept(PageLevels(works[tile.page], levels), tile, kept + first_kept[tile.page],
            num_kept[tile.page], before[ordinal].rows, words + ordinal * (TILE_ROWS / 32));
}
PQ_EXPORT(mark_entries)

__global__ void count_slots(PQ_TILES, const u32* words, u32 depth, u32 level, u32* slots) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  const PageLevels page(works[tile.page], levels);
  const u32* kept = words + ordinal * (TILE_ROWS / 32);
  u32 found = 0;
  with_entries(tile, [&](u64, u64 entry, bool inside) {
    found += static_cast<u32>(__popc(slots_of(page, *kept++, depth, level, entry, inside)));
  });
  if (Warp::leader()) slots[ordinal] = found;
}
PQ_EXPORT(count_slots)

// Offsets of the lists whose elements are slots at `depth`. `lists`, `elements`: of each tile its
// first slot of either.
__global__ void fill_offsets(PQ_TILES, const u32* words, u32 depth, u32 list_level, u32 level,
                             const u64* lists, const u64* elements, i64* out) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  const PageLevels page(works[tile.page], levels);
  const u32* kept = words + ordinal * (TILE_ROWS / 32);
  u64 list = lists[ordinal], element = elements[ordinal];
  with_entries(tile, [&](u64, u64 entry, bool inside) {
    const u32 of_round = *kept++;
    const u32 begun = slots_of(page, of_round, depth - 1, list_level, entry, inside);
    const u32 found = slots_of(page, of_round, depth, level, entry, inside);
    if (has(begun)) out[list + before(begun)] = static_cast<i64>(element + before(found));
    list += static_cast<u32>(__popc(begun));
    element += static_cast<u32>(__popc(found));
  });
}
PQ_EXPORT(fill_offsets)

// Validity of the slots at `depth`: whether the definition level reaches `there`.
__global__ void fill_group(PQ_TILES, const u32* words, u32 depth, u32 level, u32 there,
                           const u64* first, u32* out) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  const PageLevels page(works[tile.page], levels);
  const u32* kept = words + ordinal * (TILE_ROWS / 32);
  u64 slot = first[ordinal];
  with_entries(tile, [&](u64, u64 entry, bool inside) {
    const u32 found = slots_of(page, *kept++, depth, level, entry, inside);
    put_slot_bits(found, inside && page.d(entry) >= there, slot, out);
    slot += static_cast<u32>(__popc(found));
  });
}
PQ_EXPORT(fill_group)

// Of the slots at `depth`, the innermost, the rank of the value within the page.
__global__ void fill_positions(PQ_TILES, const u32* words, u32 depth, u32 level,
                               const NestedCounts* before_tiles, const u64* first, u32* positions) {
  const u32 ordinal = warp_ordinal();
  if (ordinal >= count) return;
  const Tile tile = tiles[ordinal];
  const PageWork& work = works[tile.page];
  const PageLevels page(work, levels);
  const u32* kept = words + ordinal * (TILE_ROWS / 32);
  u64 slot = first[ordinal];
  u32 rank = before_tiles[ordinal].values;
  with_entries(tile, [&](u64, u64 entry, bool inside) {
    const u32 found = slots_of(page, *kept++, depth, level, entry, inside);
    const u32 there = Warp::ballot(inside && page.d(entry) == work.max_definition_level);
    if (has(found)) positions[slot + before(found)] = has(there) ? rank + before(there) : NO_VALUE;
    slot += static_cast<u32>(__popc(found));
    rank += static_cast<u32>(__popc(there));
  });
}
PQ_EXPORT(fill_positions)

// Frames on the device: a warp a tile of `count` items.
#define PQ_FRAME_KERNEL(name, parameters, work) \
  __global__ void name parameters {             \
    const u64 tile = warp_ordinal();            \
    if (tile * TILE_ROWS >= count) return;      \
    work;                                       \
  }                                             \
  PQ_EXPORT(name)

// Of each tile the bytes that its values take.
PQ_FRAME_KERNEL(measure_views, (const View* views, u64 count, u64* sizes), {
  const u64 size = tile_bytes(views, tile, count);
  if (Warp::leader()) sizes[tile] = size;
})

PQ_FRAME_KERNEL(place_views, (const View* views, u64 count, const u64* before, i32* offsets),
                place_bytes(views, tile, count, before[tile], offsets))

PQ_FRAME_KERNEL(gather_views,
                (const View* views, u64 count, const ViewSource* sources, const u8* bytes,
                 const u8* joined, const i32* offsets, u8* out),
                gather_bytes(views, tile, count, sources, bytes, joined, offsets, out))

// Added to `bits`: how many are set in `count` words.
PQ_FRAME_KERNEL(count_bits, (const u32* words, u64 count, u64* bits), {
  const u64 found = tile_bits(words, tile, count);
  if (Warp::leader()) atomicAdd(bits, found);
})

// `differ` becomes 1 where words do.
PQ_FRAME_KERNEL(compare_words, (const u32* words, const u32* others, u64 count, u32* differ), {
  bool found = false;
  with_items(tile, count, [&](u64 i, bool inside) { found |= inside && words[i] != others[i]; });
  if (found) atomicOr(differ, 1u);
})

// Bits to bytes of 0 and 1.
PQ_FRAME_KERNEL(expand_bits, (const u32* words, u64 count, u8* out),
                with_items(tile, count, [&](u64 i, bool inside) {
                  if (inside) out[i] = static_cast<u8>(words[i / 32] >> i % 32 & 1);
                }))

// One of the three numbers of each interval.
PQ_FRAME_KERNEL(take_part, (const u32* values, u64 count, u32 part, u32* out),
                with_items(tile, count, [&](u64 i, bool inside) {
                  if (inside) out[i] = values[3 * i + part];
                }))

PQ_FRAME_KERNEL(narrow_offsets, (const i64* offsets, u64 count, i32* out),
                with_items(tile, count, [&](u64 i, bool inside) {
                  if (inside) out[i] = static_cast<i32>(offsets[i]);
                }))

// Offsets of a part of a column that begins elsewhere in another one.
PQ_FRAME_KERNEL(move_offsets, (const i32* offsets, u64 count, i32 by, i32* out),
                with_items(tile, count, [&](u64 i, bool inside) {
                  if (inside) out[i] = offsets[i] + by;
                }))

// Bits [first, first + count) to a zeroed bitmap, from bit `to` on: tiles are of its bits, from the
// word on in which the first goes.
__global__ void move_bits(const u32* words, u64 first, u64 count, u64 to, u32* out) {
  const u64 tile = warp_ordinal();
  if (tile * TILE_ROWS < to % 32 + count) copy_bits(tile, words, first, count, to, out);
}
PQ_EXPORT(move_bits)
}
