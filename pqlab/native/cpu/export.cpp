#include <algorithm>
#include <atomic>

#include "decoded.hpp"

namespace pq {
namespace {

constexpr u8 NO_BYTES[Buffer::ALIGNMENT] = {};

// The structs of a tree lie in one block. Any of them may be moved out and outlive the others: the
// block lives until the last is released.
template <class Struct>
struct Block {
  explicit Block(u64 count)
      : left(static_cast<i64>(count)), nodes(count), children(count), used(1) {}

  std::atomic<i64> left;
  std::vector<Struct> nodes;
  std::vector<Struct*> children;
  u64 used;             // of the nodes
  u64 used_children{};  // of their places
  std::shared_ptr<const ColumnSet> columns;
  std::vector<std::shared_ptr<const DecodedLeaf>> leaves;
  std::vector<const void*> buffers;
  std::vector<Buffer> made;

  static void release(Struct* node) {
    for (i64 i = 0; i < node->n_children; ++i) {
      Struct* child = node->children[i];
      if (child->release != nullptr) child->release(child);
    }
    Struct* words = node->dictionary;
    if (words != nullptr && words->release != nullptr) words->release(words);
    auto* block = static_cast<Block*>(node->private_data);
    node->release = nullptr;
    if (--block->left == 0) delete block;
  }

  // The children of a node, which are still to be filled.
  void add_children(Struct& node, u64 count) {
    node.n_children = static_cast<i64>(count);
    node.children = children.data() + used_children;
    for (u64 i = 0; i < count; ++i) children[used_children++] = &nodes[used++];
    node.release = release;
    node.private_data = this;
  }

  Struct& add_dictionary(Struct& node) {
    node.dictionary = &nodes[used++];
    add_children(*node.dictionary, 0);
    return *node.dictionary;
  }
};

u64 count_nodes(const ColumnNode& node) {
  u64 count = node.words_format.empty() ? 1 : 2;
  for (const ColumnNode& child : node.children) count += count_nodes(child);
  return count;
}

void fill_schema(Block<ArrowSchema>& block, const ColumnNode& node, ArrowSchema& out) {
  out.format = node.format.c_str();
  out.name = node.name.c_str();
  out.flags = node.flags;
  block.add_children(out, node.children.size());
  if (!node.words_format.empty()) {
    ArrowSchema& words = block.add_dictionary(out);
    words.format = node.words_format.c_str();
    words.name = "";
  }
  for (u64 i = 0; i < node.children.size(); ++i) {
    fill_schema(block, node.children[i], *out.children[i]);
  }
}

const void* pointer(const Buffer& buffer) { return buffer ? buffer.data() : nullptr; }

// Fills arrays. Their buffers are counted first, then they get their places in one vector.
class ArrayFiller {
 public:
  ArrayFiller(const Decoded& decoded, Block<ArrowArray>& block)
      : decoded_(decoded), block_(block) {}

  void fill(const ColumnNode& node, ArrowArray& out) {
    block_.add_children(out, node.children.size());
    const u64 first = block_.buffers.size();
    switch (node.kind) {
      case NodeKind::VALUES: fill_values(node, out); break;
      case NodeKind::INTERVAL: fill_interval(node, out); break;
      case NodeKind::PART: fill_part(node, out); break;
      case NodeKind::STRUCT: fill_struct(node, out); break;
      case NodeKind::LIST: fill_list(node, out); break;
    }
    out.n_buffers = static_cast<i64>(block_.buffers.size() - first);
    if (!node.words_format.empty()) fill_words(node, block_.add_dictionary(out));
    for (u64 i = 0; i < node.children.size(); ++i) fill(node.children[i], *out.children[i]);
  }

  // Once no buffer is added any more. The nodes have them in the order of `fill`.
  void place_buffers(ArrowArray& out, u64& next) {
    out.buffers = block_.buffers.data() + next;
    next += static_cast<u64>(out.n_buffers);
    if (out.dictionary != nullptr) place_buffers(*out.dictionary, next);
    for (i64 i = 0; i < out.n_children; ++i) place_buffers(*out.children[i], next);
  }

 private:
  const DecodedLeaf& leaf(const ColumnNode& node) { return *decoded_.leaves[node.column]; }

  i64 slots(const DecodedLeaf& leaf, u64 depth) const {
    return leaf.slots.empty() ? decoded_.num_rows : static_cast<i64>(leaf.slots[depth]);
  }
  i64 num_values(const DecodedLeaf& leaf) const {
    return leaf.slots.empty() ? decoded_.num_rows : static_cast<i64>(leaf.slots.back());
  }

  void add(const void* buffer) { block_.buffers.push_back(buffer); }

  void fill_values(const ColumnNode& node, ArrowArray& out) {
    const DecodedLeaf& from = leaf(node);
    block_.leaves.push_back(decoded_.leaves[node.column]);
    out.length = num_values(from);
    if (from.type.kind == Kind::NOTHING) {
      out.null_count = out.length;
      return;
    }
    out.null_count = from.null_count;
    add(pointer(from.validity));
    add(from.values.data());
    if (!from.type.views()) return;
    Buffer sizes(from.view_buffers.size() * sizeof(i64));
    auto* size = reinterpret_cast<i64*>(sizes.data());
    for (const ViewBuffer& part : from.view_buffers) {
      const bool owned = static_cast<bool>(part.owned);
      const u8* data = owned ? part.owned.data() : part.data;
      *size++ = static_cast<i64>(owned ? part.owned.size() : part.size);
      add(data == nullptr ? NO_BYTES : data);
    }
    add(sizes.data());
    block_.made.push_back(std::move(sizes));
  }

  void fill_words(const ColumnNode& node, ArrowArray& out) {
    Words& words = *leaf(node).words;
    out.length = static_cast<i64>(words.size());
    out.n_buffers = 3;
    add(nullptr);
    add(words.offsets().data());
    add(words.bytes().size() == 0 ? NO_BYTES : words.bytes().data());
  }

  void fill_interval(const ColumnNode& node, ArrowArray& out) {
    const DecodedLeaf& from = leaf(node);
    block_.leaves.push_back(decoded_.leaves[node.column]);
    out.length = num_values(from);
    out.null_count = from.null_count;
    add(pointer(from.validity));
  }

  void fill_part(const ColumnNode& node, ArrowArray& out) {
    constexpr u64 PARTS = 3;
    const DecodedLeaf& from = leaf(node);
    out.length = num_values(from);
    const u64 count = static_cast<u64>(out.length);
    Buffer part(count * sizeof(u32));
    const auto* values = reinterpret_cast<const u32*>(from.values.data()) + node.depth;
    auto* to = reinterpret_cast<u32*>(part.data());
    for (u64 i = 0; i < count; ++i) to[i] = values[i * PARTS];
    add(nullptr);
    add(part.data());
    block_.made.push_back(std::move(part));
  }

  void fill_struct(const ColumnNode& node, ArrowArray& out) {
    if (&node == &decoded_.columns->root) {
      out.length = decoded_.num_rows;
      add(nullptr);
      return;
    }
    out.length = slots(leaf(node), node.depth);
    add_validity(node, out);
  }

  void fill_list(const ColumnNode& node, ArrowArray& out) {
    const DecodedLeaf& from = leaf(node);
    out.length = slots(from, node.depth - 1);
    add_validity(node, out);
    add(from.offsets[node.depth - 1].data());
  }

  void add_validity(const ColumnNode& node, ArrowArray& out) {
    if (node.group < 0) return add(nullptr);
    const DecodedGroup& group = leaf(node).groups[static_cast<u64>(node.group)];
    out.null_count = group.null_count;
    add(pointer(group.bits));
  }

  const Decoded& decoded_;
  Block<ArrowArray>& block_;
};

}  // namespace

u64 DecodedLeaf::bytes() const {
  u64 total = values.size() + validity.size();
  if (words != nullptr) total += words->offsets().size() + words->bytes().size();
  for (const ViewBuffer& part : view_buffers) total += part.owned ? part.owned.size() : part.size;
  for (const Buffer& buffer : offsets) total += buffer.size();
  for (const DecodedGroup& group : groups) total += group.bits.size();
  return total;
}

u64 Decoded::bytes() const {
  u64 total = 0;
  for (const auto& leaf : leaves) total += leaf->bytes();
  return total;
}

void export_schema(const std::shared_ptr<const ColumnSet>& columns, const ColumnNode& node,
                   ArrowSchema& out) {
  auto block = std::make_unique<Block<ArrowSchema>>(count_nodes(node));
  block->columns = columns;
  out = {};
  fill_schema(*block, node, out);
  block.release();  // NOLINT: the last struct's release deletes it
}

void export_array(const Decoded& decoded, const ColumnNode& node, ArrowArray& out) {
  auto block = std::make_unique<Block<ArrowArray>>(count_nodes(node));
  out = {};
  ArrayFiller filler(decoded, *block);
  filler.fill(node, out);
  u64 next = 0;
  filler.place_buffers(out, next);
  block.release();  // NOLINT: the last struct's release deletes it
}

}  // namespace pq
