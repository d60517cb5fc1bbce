// Columns that lie in a device's memory, as the Arrow C device interface hands them over.
#include <atomic>
#include <memory>
#include <vector>

#include "arrow.hpp"
#include "bindings.hpp"
#include "decode_bindings.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

constexpr const char* NAME = "arrow_device_array";
constexpr u64 MAX_DEPTH = 256;  // of arrays: no column nests as deep

u64 count_nodes(const nb::tuple& node, u64 depth = 0) {
  if (depth > MAX_DEPTH) throw nb::value_error("arrays nested too deep");
  u64 count = 1;
  for (nb::handle child : nb::cast<nb::tuple>(node[3])) {
    count += count_nodes(nb::cast<nb::tuple>(child), depth + 1);
  }
  return count;
}

// Arrays of a tree, and what they refer to. Any of them may be moved out and outlive the others:
// it lives until the last is released. `node`: (length, nulls, addresses of buffers, children).
class Tree {
 public:
  static void fill(const nb::tuple& node, std::shared_ptr<const void> owner, ArrowArray& out) {
    const u64 count = count_nodes(node);
    auto tree = std::unique_ptr<Tree>(new Tree(count, std::move(owner)));
    out = {};
    tree->fill(node, out);
    tree.release();  // NOLINT: the last array's release deletes it
  }

 private:
  Tree(u64 count, std::shared_ptr<const void> owner)
      : left_(static_cast<i64>(count)),
        arrays_(count),
        children_(count),
        buffers_(count),
        owner_(std::move(owner)) {}

  static void release(ArrowArray* array) {
    for (i64 i = 0; i < array->n_children; ++i) {
      ArrowArray* child = array->children[i];
      if (child->release != nullptr) child->release(child);
    }
    auto* tree = static_cast<Tree*>(array->private_data);
    array->release = nullptr;
    if (--tree->left_ == 0) delete tree;
  }

  void fill(const nb::tuple& node, ArrowArray& out) {
    const u64 ordinal = filled_++;
    out.length = nb::cast<i64>(node[0]);
    out.null_count = nb::cast<i64>(node[1]);
    for (nb::handle address : nb::cast<nb::tuple>(node[2])) {
      buffers_[ordinal].push_back(reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(address)));
    }
    out.n_buffers = static_cast<i64>(buffers_[ordinal].size());
    out.buffers = buffers_[ordinal].data();
    const auto children = nb::cast<nb::tuple>(node[3]);
    out.n_children = static_cast<i64>(children.size());
    out.children = children_.data() + used_;
    for (u64 i = 0; i < children.size(); ++i, ++used_) children_[used_] = &arrays_[used_];
    for (u64 i = 0; i < children.size(); ++i) {
      fill(nb::cast<nb::tuple>(children[i]), *out.children[i]);
    }
    out.release = release;
    out.private_data = this;
  }

  std::atomic<i64> left_;
  std::vector<ArrowArray> arrays_;  // all but the outermost
  std::vector<ArrowArray*> children_;
  std::vector<std::vector<const void*>> buffers_;
  std::shared_ptr<const void> owner_;
  u64 filled_ = 0;
  u64 used_ = 0;
};

nb::capsule device_array(const nb::tuple& node, i32 device_type, i64 device_id, nb::handle owner) {
  auto made = std::make_unique<ArrowDeviceArray>();
  *made = {};
  made->device_type = device_type;
  made->device_id = device_id;
  Tree::fill(node, keep(owner), made->array);
  return nb::steal<nb::capsule>(PyCapsule_New(made.release(), NAME, [](PyObject* capsule) {
    auto* held = static_cast<ArrowDeviceArray*>(PyCapsule_GetPointer(capsule, NAME));
    if (held->array.release != nullptr) held->array.release(&held->array);
    delete held;
  }));
}

}  // namespace

void bind_device_array(nb::module_& m) {
  m.def("device_array", &device_array, nb::arg("node"), nb::kw_only(), nb::arg("device_type"),
        nb::arg("device_id"), nb::arg("owner"),
        "A capsule of an ArrowDeviceArray. `node`: (length, nulls or -1, addresses of buffers, 0 "
        "for none, nodes of children); `owner` keeps their memory. Nothing is to be waited for.");
}

}  // namespace pq
