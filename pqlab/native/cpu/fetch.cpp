#include "fetch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "clock.hpp"

namespace pq {
namespace {

Error reading_error(const char* what, int code, i64 offset) {
  return Error(ErrorKind::Source, std::string(what) + ": " + std::strerror(code), "", offset);
}

}  // namespace

File::File(int descriptor) : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (descriptor_ < 0) throw reading_error("cannot open", errno, -1);
}

File::~File() { close(descriptor_); }

void File::read(i64 start, u64 size, u8* to) const {
  u64 done = 0;
  while (done < size) {
    const ssize_t got = pread(descriptor_, to + done, size - done,
                              static_cast<off_t>(start) + static_cast<off_t>(done));
    const i64 offset = start + static_cast<i64>(done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw reading_error("cannot read", errno, offset);
    if (got == 0) {
      throw Error(ErrorKind::Source,
                  "the source ended after " + std::to_string(done) + " of the " +
                      std::to_string(size) + " bytes asked for",
                  "", offset);
    }
    done += static_cast<u64>(got);
  }
}

void Fetch::lay_out(std::vector<Wanted> wanted) {
  wanted_ = std::move(wanted);
  std::sort(wanted_.begin(), wanted_.end(),
            [](const Wanted& a, const Wanted& b) { return a.start < b.start; });
  auto next = wanted_.begin();  // the first that begins at the border or behind it
  for (Request& request : requests) {
    while (next != wanted_.end() && next->start < request.start) ++next;
    const bool straddled = next != wanted_.begin() && std::prev(next)->stop > request.start;
    if (straddled && !pieces.empty() && pieces.back().stop == request.start) {
      pieces.back().stop = request.stop;
    } else {
      pieces.push_back({request.start, request.stop, nullptr, {}});
    }
    request.piece = static_cast<u32>(pieces.size() - 1);
  }
}

void Fetch::allocate() {
  for (Piece& piece : pieces) {
    if (piece.data != nullptr) continue;
    const auto memory = std::make_shared<Buffer>(static_cast<u64>(piece.stop - piece.start));
    piece.data = memory->data();
    piece.owner = memory;
  }
}

void Fetch::run(u64 request) const {
  const Request& asked = requests[request];
  const Piece& piece = pieces[asked.piece];
  file->read(asked.start, static_cast<u64>(asked.stop - asked.start),
             piece.data + (asked.start - piece.start));
}

u32 Fetch::piece_of(i64 start) const {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), start,
                       [](i64 position, const Piece& piece) { return position < piece.start; });
  return static_cast<u32>(after - pieces.begin()) - 1;  // none: beyond all of them
}

u32 Fetch::find(i64 start, i64 stop) const {
  const u32 at = piece_of(start);
  if (at < pieces.size() && start <= stop && stop <= pieces[at].stop) return at;
  throw Error(
      ErrorKind::Source,
      "bytes " + std::to_string(start) + " to " + std::to_string(stop) + " were not fetched", "",
      start);
}

std::vector<Served> Fetch::served() const {
  std::vector<Served> found;
  auto first = requests.begin();  // the first that ends behind where the range begins
  for (const Wanted& wanted : wanted_) {
    while (first != requests.end() && first->stop <= wanted.start) ++first;
    for (auto each = first; each != requests.end() && each->start < wanted.stop; ++each) {
      found.push_back({std::max(wanted.start, each->start), std::min(wanted.stop, each->stop),
                       static_cast<i32>(each - requests.begin()), wanted.row_group, wanted.leaf});
    }
  }
  return found;
}

Event Fetch::event(u64 request, i64 start_ns, i32 worker) const {
  const Request& asked = requests[request];
  Event event;
  event.start_ns = start_ns;
  event.duration_ns = now_ns() - start_ns;
  event.offset = asked.start;
  event.bytes_out = 0;
  event.bytes_in = asked.stop - asked.start;
  event.request_id = static_cast<i32>(request);
  event.worker = static_cast<i16>(worker);
  event.stage = Stage::FETCH;
  event.reason = Reason::PAGES;
  const auto end = std::partition_point(wanted_.begin(), wanted_.end(),
                                        [&](const Wanted& w) { return w.start < asked.stop; });
  auto each = std::partition_point(wanted_.begin(), end,
                                   [&](const Wanted& w) { return w.start < asked.start; });
  while (each != wanted_.begin() && std::prev(each)->stop > asked.start) --each;
  bool first = true;
  i64 reached = asked.start;
  for (; each != end; ++each) {
    const i64 from = std::max(each->start, reached), to = std::min(each->stop, asked.stop);
    if (from < to) {
      event.bytes_out += to - from;
      reached = to;
    }
    event.row_group = first || event.row_group == each->row_group ? each->row_group : -1;
    event.leaf = first || event.leaf == each->leaf ? each->leaf : -1;
    first = false;
  }
  if (first) event.row_group = event.leaf = -1;
  return event;
}

}  // namespace pq
