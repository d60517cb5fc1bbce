// Bytes of a file in memory: given by the caller, or read by the pool's threads.
#pragma once
#include <memory>
#include <vector>

#include "event.cuh"
#include "memory.hpp"

namespace pq {

// An open file of its own; closed with its last user.
class File {
 public:
  // A duplicate of a descriptor. Throws Error.
  explicit File(int descriptor);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads all of [start, start + size). Throws Error with the offset.
  void read(i64 start, u64 size, u8* to) const;

 private:
  int descriptor_;
};

// Bytes [start, stop) of the file, together in memory, 16 readable ones behind them.
struct Piece {
  i64 start;
  i64 stop;
  u8* data;  // null until they are fetched; given by the caller, they are only read
  std::shared_ptr<const void> owner;
};

struct Request {
  i64 start;
  i64 stop;
  u32 piece;
};

// What of the file is wanted, and for which chunk: its pages lie together.
struct Wanted {
  i64 start;
  i64 stop;
  i32 row_group;
  i32 leaf;
};

struct Fetch {
  std::shared_ptr<const File> file;
  std::vector<Piece> pieces;  // by start
  std::vector<Request> requests;

  // Joins requests, sorted and disjoint, to pieces where one of the `wanted` needs the bytes of
  // several together.
  void lay_out(std::vector<Wanted> wanted);
  // Memory for the pieces that are not there yet.
  void allocate();
  void run(u64 request) const;
  // In which piece the bytes are; throws Error if they are not in one.
  u32 find(i64 start, i64 stop) const;
  u32 piece_of(i64 start) const;
  // What of which chunk each request brings.
  std::vector<Served> served() const;
  // What a request brought: where it serves one chunk, that is named.
  Event event(u64 request, i64 start_ns, i32 worker) const;

 private:
  std::vector<Wanted> wanted_;  // by start
};

}  // namespace pq
