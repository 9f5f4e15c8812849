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

// Bytes for people to read that should be UTF-8 but may come from a file; a wrong one becomes \xNN.
inline nb::str to_text(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
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

// A name that something is found by, which no other bytes may become: `code` for one that is not UTF-8. `what` has it, such as "parameter".
inline nb::str to_name(std::string_view name, const char* what, Code code) {
  PyObject* decoded = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "strict");
  if (decoded != nullptr) return nb::steal<nb::str>(decoded);
  if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  raise(error(code, "the name of %s '%.*s' is not UTF-8, which names in Python have to be", what, static_cast<int>(name.size()), name.data())
            .with_remedy("give it a name in UTF-8 with the tool that made it"));
}

inline nb::str to_parameter_name(std::string_view name) { return to_name(name, "parameter", Code::InvalidParams); }

// A path as os.fsencode gives it.
inline const char* to_path(const nb::bytes& path) {
  if (strlen(path.c_str()) != path.size()) raise(error(Code::InvalidArgument, "the path '%s...' holds a zero byte", path.c_str()));
  return path.c_str();
}

}  // namespace tiffin::python
