// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/params.h"

#include <utility>

#include "base/byte_sink.h"
#include "base/params/tvm_params.h"
#include "python/bindings/raise.h"
#include "python/bindings/tensor.h"

namespace tiffin::python {
namespace {

// What the tensors of one dictionary keep alive together.
struct ViewOwner {
  runtime::ParameterView* view;
  nb::object memory;
  ViewOwner(runtime::ParameterView* taken, nb::object kept) : view(taken), memory(std::move(kept)) {}
  ViewOwner(const ViewOwner&) = delete;
  ViewOwner& operator=(const ViewOwner&) = delete;
  ~ViewOwner() { runtime::ParameterView::destroy(view); }
};

nb::dict load_param_dict(const nb::object& bytes) {
  const nb::object memory = nb::steal(PyMemoryView_FromObject(bytes.ptr()));
  if (!memory.is_valid()) throw nb::python_error();
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const std::span<const uint8_t> content(static_cast<const uint8_t*>(view.buf), static_cast<size_t>(view.len));
  return to_dict(take(runtime::ParameterView::of_file(take(params::ParamFile::from_memory(content)))), memory);
}

nb::bytes save_param_dict(const nb::dict& tensors) {
  const DictSource source(tensors);
  Array<uint8_t> out;
  check(params::write_tvm_params(source.source(), memory_sink(out)));
  return nb::bytes(out.data(), out.size());
}

}  // namespace

DictSource::DictSource(const nb::dict& tensors) {
  entries_.reserve(tensors.size());
  for (const auto& [name, value] : tensors) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name.ptr(), &length);
    if (text == nullptr) throw nb::python_error();
    const std::string& kept = names_.emplace_back(text, static_cast<size_t>(length));
    entries_.push_back(nb::cast<const Tensor&>(value).to_entry(kept, copies_.emplace_back()));
  }
}

nb::dict to_dict(runtime::ParameterView* view, nb::object memory) {
  const nb::object owner = nb::cast(new ViewOwner(view, std::move(memory)), nb::rv_policy::take_ownership);
  nb::dict tensors;
  for (size_t i = 0; i < view->entries().size(); ++i) {
    const params::ParamEntry& entry = view->entries()[i];
    const uint8_t* data = take(view->bytes(i));
    Tensor tensor(entry.dtype, {entry.shape.begin(), entry.shape.end()}, data, entry.bytes, true, owner);
    tensor.set_tvm_type(entry.tvm_code, entry.tvm_bits);
    tensors[to_parameter_name(entry.name)] = nb::cast(std::move(tensor));
  }
  return tensors;
}

void define_params(nb::module_& module) {
  nb::class_<ViewOwner>(module, "ViewOwner");
  module.def("load_param_dict", &load_param_dict, nb::arg("bytes"));
  module.def("save_param_dict", &save_param_dict, nb::arg("tensors"));
}

}  // namespace tiffin::python
