// Columns and Decoded as Python classes: what goes into a read and what comes out of it.
#include <nanobind/stl/string.h>

#include <limits>

#include "bindings.hpp"
#include "decode_bindings.hpp"
#include "error.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

Nesting nesting_of(const nb::tuple& t) {
  Nesting nesting;
  nesting.nested = nb::cast<bool>(t[0]);
  for (nb::handle level : nb::cast<nb::tuple>(t[1])) {
    nesting.list_levels.push_back(nb::cast<u32>(level));
  }
  for (nb::handle each : nb::cast<nb::tuple>(t[2])) {
    const auto group = nb::cast<nb::tuple>(each);
    nesting.groups.push_back({nb::cast<u32>(group[0]), nb::cast<u32>(group[1])});
    if (nesting.groups.back().depth >= nesting.list_levels.size()) {
      throw nb::index_error("a group names a depth that is not there");
    }
  }
  nesting.leaf_is_optional = nb::cast<bool>(t[3]);
  return nesting;
}

ColumnSpec column_spec(nb::handle item) {
  const auto t = nb::cast<nb::tuple>(item);
  ColumnSpec column{nb::cast<i32>(t[0]),
                    value_type(nb::cast<std::string>(t[2]), nb::cast<u32>(t[3])),
                    nb::cast<u32>(t[4]),
                    nesting_of(nb::cast<nb::tuple>(t[5])),
                    {},
                    nb::cast<u32>(t[7]),
                    nb::cast<u32>(t[8]),
                    nb::cast<std::string>(t[1])};
  column.nesting.max_definition_level = column.max_definition_level;
  const auto calendar = nb::cast<nb::tuple>(t[6]);
  column.calendar = {nb::cast<i64>(calendar[0]), nb::cast<i64>(calendar[1]),
                     nb::cast<std::string>(calendar[2])};
  const auto refuse = [&](Error error) {
    error.leaf = column.leaf;
    throw error;
  };
  if (column.max_definition_level > std::numeric_limits<Level>::max()) {
    refuse(Error(ErrorKind::Unsupported, "a column nested so deep is not read"));
  }
  const bool fixed = column.type.copies() || is_fixed(column.type.kind);
  if (fixed && column.type.width == 0) {
    refuse(Error(ErrorKind::Corrupt, "values of no bytes", "SchemaElement.type_length"));
  }
  return column;
}

// Reads the tree of a schema, and along with it what its nodes are made of, in the same order.
class TreeReader {
 public:
  TreeReader(ColumnSet& set, const nb::list& nodes) : set_(set), nodes_(nodes) {}

  ColumnNode read(const ArrowSchema& schema) {
    if (set_.num_nodes >= nodes_.size()) throw nb::index_error("a schema of more nodes");
    const auto t = nb::cast<nb::tuple>(nodes_[set_.num_nodes++]);
    ColumnNode node{schema.format,
                    schema.name == nullptr ? "" : schema.name,
                    schema.flags,
                    static_cast<NodeKind>(nb::cast<u8>(t[0])),
                    nb::cast<u32>(t[1]),
                    nb::cast<u32>(t[2]),
                    nb::cast<i32>(t[3]),
                    schema.dictionary == nullptr ? "" : schema.dictionary->format,
                    {}};
    const bool is_root = set_.num_nodes == 1;
    if (!is_root) check(node);
    node.children.reserve(static_cast<u64>(schema.n_children));
    for (i64 i = 0; i < schema.n_children; ++i) node.children.push_back(read(*schema.children[i]));
    return node;
  }

 private:
  void check(const ColumnNode& node) const {
    if (node.column >= set_.leaves.size()) throw nb::index_error("a node of no leaf");
    const Nesting& nesting = set_.leaves[node.column].nesting;
    const u64 depths = nesting.list_levels.size();
    const bool is_list = node.kind == NodeKind::LIST, is_struct = node.kind == NodeKind::STRUCT;
    const bool too_deep = (is_list || is_struct) && node.depth >= depths;
    const bool no_group = node.group >= static_cast<i32>(nesting.groups.size());
    if (too_deep || no_group || (is_list && node.depth == 0)) {
      throw nb::index_error("a node at a depth or of a group that is not there");
    }
  }

  ColumnSet& set_;
  const nb::list& nodes_;
};

// The i-th leaf may share with the one before it only what both have.
void check_shared(const std::vector<ColumnSpec>& leaves) {
  for (u64 i = 0; i < leaves.size(); ++i) {
    const ColumnSpec& leaf = leaves[i];
    const Nesting& before = leaves[i == 0 ? 0 : i - 1].nesting;
    const bool shares = leaf.shared_lists != 0 || leaf.shared_groups != 0;
    const auto common = [&](const Nesting& nesting) {
      return nesting.nested && leaf.shared_lists <= nesting.max_repetition_level() &&
             leaf.shared_groups <= nesting.groups.size();
    };
    if (shares && (i == 0 || !common(before) || !common(leaf.nesting))) {
      throw nb::index_error("a leaf shares what is not there");
    }
  }
}

template <class Struct>
nb::capsule capsule_of(Struct* filled, const char* name) {
  return nb::steal<nb::capsule>(PyCapsule_New(filled, name, [](PyObject* capsule) {
    auto* held = static_cast<Struct*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (held->release != nullptr) held->release(held);
    delete held;
  }));
}

nb::capsule schema_capsule(const std::shared_ptr<const ColumnSet>& columns,
                           const ColumnNode& node) {
  auto schema = std::make_unique<ArrowSchema>();
  export_schema(columns, node, *schema);
  return capsule_of(schema.release(), "arrow_schema");
}

nb::tuple array_capsules(const Decoded& decoded, const ColumnNode& node) {
  nb::capsule schema = schema_capsule(decoded.columns, node);
  auto array = std::make_unique<ArrowArray>();
  export_array(decoded, node, *array);
  return nb::make_tuple(schema, capsule_of(array.release(), "arrow_array"));
}

const ColumnNode& column_at(const Decoded& decoded, u64 ordinal) {
  const auto& columns = decoded.columns->root.children;
  if (ordinal >= columns.size()) throw nb::index_error("no such column");
  return columns[ordinal];
}

// Ordinals of the columns whose words have an order of their own.
nb::list ordered_columns(const Decoded& decoded) {
  nb::list ordinals;
  const auto& columns = decoded.columns->root.children;
  for (u64 i = 0; i < columns.size(); ++i) {
    if ((columns[i].flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0) ordinals.append(i);
  }
  return ordinals;
}

// One column of a Decoded.
struct DecodedColumn {
  Decoded decoded;
  const ColumnNode* node;
};

}  // namespace

void bind_columns(nb::module_& m) {
  nb::class_<Columns>(m, "Columns")
      .def(
          "__init__",
          [](Columns* self, const nb::list& leaves, nb::handle schema, const nb::list& nodes) {
            auto set = std::make_shared<ColumnSet>();
            for (nb::handle item : leaves) set->leaves.push_back(column_spec(item));
            check_shared(set->leaves);
            auto* tree =
                static_cast<ArrowSchema*>(PyCapsule_GetPointer(schema.ptr(), "arrow_schema"));
            if (tree == nullptr) throw nb::python_error();
            set->root = TreeReader(*set, nodes).read(*tree);
            new (self) Columns{std::move(set)};
          },
          nb::arg("leaves"), nb::arg("schema"), nb::arg("nodes"))
      .def("__arrow_c_schema__",
           [](const Columns& self) { return schema_capsule(self.set, self.set->root); });
  nb::class_<DecodedColumn>(m, "DecodedColumn")
      .def(
          "__arrow_c_array__",
          [](const DecodedColumn& self, nb::handle) {
            return array_capsules(self.decoded, *self.node);
          },
          nb::arg("requested_schema") = nb::none())
      .def_prop_ro("name",
                   [](const DecodedColumn& self) { return nb::str(self.node->name.c_str()); });
  nb::class_<Decoded>(m, "Decoded")
      .def(
          "__arrow_c_array__",
          [](const Decoded& self, nb::handle) { return array_capsules(self, self.columns->root); },
          nb::arg("requested_schema") = nb::none())
      .def("__arrow_c_schema__",
           [](const Decoded& self) { return schema_capsule(self.columns, self.columns->root); })
      .def(
          "column",
          [](const Decoded& self, u64 ordinal) {
            const ColumnNode& node = column_at(self, ordinal);
            return DecodedColumn{self, &node};
          },
          nb::arg("ordinal"))
      .def_ro("num_rows", &Decoded::num_rows)
      .def_prop_ro("num_columns",
                   [](const Decoded& self) { return self.columns->root.children.size(); })
      .def_prop_ro("ordered", &ordered_columns)
      .def_prop_ro("nbytes", &Decoded::bytes);
}

}  // namespace pq
