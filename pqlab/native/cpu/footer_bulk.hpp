// The footers of many files at once, their chunks under each other in one table.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "footer.hpp"

namespace pq {

// A row per file. `OK` is 0 where anything was wrong: who wants to know what, opens the file.
enum FileColumn : int {
  FILE_OK,
  FILE_SIZE,
  FILE_MTIME_NS,
  FILE_CTIME_NS,
  FILE_INODE,
  FILE_DEVICE,
  FILE_FOOTER_BYTES,
  FILE_NUM_ROWS,
  FILE_NUM_ROW_GROUPS,
  FILE_KIND,  // which of `kinds`; 0 where it is not OK
  FILE_COLUMNS,
};
inline constexpr const char* FILE_NAMES[FILE_COLUMNS] = {
    "ok",     "size",         "mtime_ns", "ctime_ns",       "inode",
    "device", "footer_bytes", "num_rows", "num_row_groups", "kind"};
using FileTable = NarrowTable<FILE_COLUMNS>;

struct Footers {
  FileTable files{0};
  ChunkTable chunks{0};  // STATISTICS_POSITION is in `statistics`, and 0 for none
  RowGroupTable row_groups{0};
  std::vector<u8> statistics;  // the Statistics structs; the first byte is nobody's
  // Footers of which no two have the same schema, column orders and writer.
  std::vector<std::string> kinds;
};

struct BulkOptions {
  FooterLimits limits;
  u64 footer_bytes;  // no footer is longer
  u64 guess_bytes;   // so many are read of a file's end at first
  unsigned threads;
};

// One file of `read_footers`: a path, or the bytes of its FileMetaData.
struct FooterSource {
  std::string path;
  const u8* data = nullptr;  // with 16 readable bytes behind them
  u64 size = 0;
};

// Reads and parses them all. `go_on` is asked about ten times a second, in the calling thread; once
// it is false, no further file is begun.
void read_footers(const std::vector<FooterSource>& sources, const BulkOptions& options,
                  const std::function<bool()>& go_on, Footers& footers);

// Only what the file system says of them: `OK` for a regular file, and the cells up to `DEVICE`.
void stat_files(const std::vector<std::string>& paths, FileTable& files);

}  // namespace pq
