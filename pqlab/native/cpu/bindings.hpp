// Each source file with a Python face registers it through one function.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "config.cuh"

namespace pq {

void bind_footer(nanobind::module_& m);  // footer.cpp: FileMetaData -> columnar arrays
void bind_pages(nanobind::module_& m);   // pages.cpp: page index and page headers -> page table
void bind_decode(nanobind::module_& m);  // decode.cpp: pages -> column buffers
void bind_planned_read(nanobind::module_& m);  // planned_read.cpp: parts of a plan -> jobs
void bind_device(nanobind::module_& m);  // device.cpp: what a read on a device needs of the host
void bind_device_array(nanobind::module_& m);  // device_array.cpp: columns on a device to Arrow
void bind_plan(nanobind::module_& m);          // plan.cpp: byte ranges -> requests
void bind_columns(nanobind::module_& m);       // columns.cpp: what a read makes of leaves, and made
void bind_page_rows(nanobind::module_& m);     // page_rows.cpp: pages -> rows, by their levels
void bind_codecs(nanobind::module_& m);        // codecs.cpp: block decompression
void bind_xxhash(nanobind::module_& m);        // xxhash.cpp: XXH64
void bind_spans(nanobind::module_& m);    // spans.cpp: spans of a buffer as Arrow views, as text
void bind_mapping(nanobind::module_& m);  // mapping.cpp: cache files by mmap
void bind_memory(nanobind::module_& m);   // memory_bindings.cpp: the pool of buffers

void bind_loops(nanobind::module_& m);       // loops.cpp: the instruction set
void bind_primitives(nanobind::module_& m);  // primitives.cpp: the loops one by one, for tests

}  // namespace pq
