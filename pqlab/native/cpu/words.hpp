// The distinct values of a column of text, where codes stand for them.
#pragma once
#include <shared_mutex>
#include <vector>

#include "memory.hpp"
#include "view.cuh"

namespace pq {

// A code for each distinct text, from 1 on, in the order in which they come; 0 is left where there
// is no value. Any number of threads may look texts up at a time.
class Words {
 public:
  // The codes of texts, given as views; the longer ones stand at their offsets from `bytes`.
  void look_up(const u8* bytes, const View* views, u64 count, u32* codes);

  // Once all are looked up: codes become ordinals among those of the words that occur in them, in
  // the order of their bytes, so that neither depends on threads or pages. What was 0 stays 0.
  void sort(u32* codes, u64 count);

  // After that, as Arrow lays them out.
  u64 size() const { return size_; }
  Buffer& offsets() { return offsets_; }  // i64, size() + 1
  Buffer& bytes() { return bytes_; }

 private:
  struct Word {
    const u8* data;
    u32 length;
    u32 check;  // of the hash, the half that does not choose the slot
  };

  u32 find(u64 hash, const u8* data, u32 length) const;
  u32 add(u64 hash, const u8* data, u32 length);
  const u8* keep(const u8* data, u32 length);
  void grow();

  std::shared_mutex mutex_;
  std::vector<Word> words_;   // by code - 1
  std::vector<u32> slots_;    // codes by hash, a power of 2 of them; 0: free
  std::vector<Buffer> kept_;  // the words' bytes
  u64 used_ = 0;              // of the last of them
  u64 size_ = 0;
  Buffer offsets_;
  Buffer bytes_;
};

}  // namespace pq
