#include "bindings.hpp"

#include <nanobind/stl/string.h>

#include "error.hpp"

namespace nb = nanobind;

namespace pq {
namespace {

const char* python_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Corrupt: return "CorruptError";
    case ErrorKind::Unsupported: return "UnsupportedError";
    case ErrorKind::Encrypted: return "EncryptedError";
    case ErrorKind::Limit: return "LimitError";
    case ErrorKind::Source: return "SourceError";
  }
  return "PqlabError";
}

// `leaf` is not part of a place in Python, where columns have names: it is left on the error as an
// attribute for the layer that knows the schema, unless native code knows the name.
void raise(const Error& error) {
  nb::object type = nb::module_::import_("pqlab.errors").attr(python_name(error.kind));
  nb::object value = type(error.message);
  if (!error.field.empty()) value.attr("field") = error.field;
  if (!error.hint.empty()) value.attr("hint") = error.hint;
  if (!error.column.empty()) {
    value.attr("column") = nb::steal(PyUnicode_DecodeUTF8(
        error.column.data(), static_cast<Py_ssize_t>(error.column.size()), "replace"));
  }
  if (error.offset >= 0) value.attr("offset") = error.offset;
  if (error.row_group >= 0) value.attr("row_group") = error.row_group;
  if (error.page >= -1) value.attr("page") = error.page;
  value.attr("leaf") = error.leaf >= 0 ? nb::object(nb::int_(error.leaf)) : nb::none();
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace
}  // namespace pq

NB_MODULE(_native, m) {
  m.doc() = "pqlab's native code: footer, page index, page headers, decoding, codecs.";
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const pq::Error& error) {
      pq::raise(error);
    }
  });
  pq::bind_loops(m);
  pq::bind_footer(m);
  pq::bind_pages(m);
  pq::bind_codecs(m);
  pq::bind_plan(m);
  pq::bind_columns(m);
  pq::bind_decode(m);
  pq::bind_planned_read(m);
  pq::bind_page_rows(m);
  pq::bind_device(m);
  pq::bind_device_array(m);
  pq::bind_xxhash(m);
  pq::bind_spans(m);
  pq::bind_mapping(m);
  pq::bind_memory(m);
  pq::bind_primitives(m);
}
