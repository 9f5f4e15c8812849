// SPDX-License-Identifier: Apache-2.0
// Where a Status becomes a Python exception: the only place of the bindings that raises. Both extension modules use it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace tiffin::python {

namespace nb = nanobind;

// Bytes that should be UTF-8 but come from a file; a wrong one becomes U+FFFD.
inline nb::str to_text(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

// Raises the class of tiffin.errors that fits the code. The interpreter lock is held.
[[noreturn]] inline void raise(const Status& status) {
  nb::dict details;
  for (size_t i = 0; i < status.detail_count(); ++i) {
    const Status::Detail detail = status.detail(i);
    const nb::str key = to_text(detail.key);
    if (!detail.is_listed) {
      details[key] = to_text(detail.value);
    } else {
      if (!details.contains(key)) details[key] = nb::list();
      nb::cast<nb::list>(details[key]).append(to_text(detail.value));
    }
  }
  const nb::object failure = nb::module_::import_("tiffin.errors")
                                 .attr("from_status")(code_row(status.code()).name, to_text(status.message()), to_text(status.remedy()), details);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(failure.ptr())), failure.ptr());
  throw nb::python_error();
}

inline void check(const Status& status) {
  if (!status.is_ok()) raise(status);
}

template <class T>
T take(Result<T> result) {
  if (!result.has_value()) raise(result.error());
  return std::move(result).value();
}

// A path as os.fsencode gives it.
inline const char* to_path(const nb::bytes& path) {
  if (strlen(path.c_str()) != path.size()) raise(error(Code::InvalidArgument, "the path '%s...' holds a zero byte", path.c_str()));
  return path.c_str();
}

}  // namespace tiffin::python
