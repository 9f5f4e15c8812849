// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/tensor.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "base/text.h"
#include "python/bindings/raise.h"
#include "runtime/executor/tensor_view.h"

namespace tiffin::python {
namespace {

struct FormatRow {
  DType dtype;
  const char* format;  // of Python's struct module, with PEP 3118's complex ones
};
constexpr FormatRow kFormats[] = {
    {DType::Float32, "f"}, {DType::Float64, "d"}, {DType::Float16, "e"},    {DType::Int8, "b"},        {DType::Int16, "h"},
    {DType::Int32, "i"},   {DType::Int64, "q"},   {DType::UInt8, "B"},      {DType::UInt16, "H"},      {DType::UInt32, "I"},
    {DType::UInt64, "Q"},  {DType::Bool, "?"},    {DType::Complex64, "Zf"}, {DType::Complex128, "Zd"},
};

uint64_t count_elements(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) {
      raise(error(Code::InvalidArgument, "a tensor's shape has a negative or too large extent"));
    }
  }
  return count;
}

uint64_t bytes_of_type(DType dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = 0;
  if (!storage_bytes(dtype, count_elements(shape), &bytes)) {
    raise(error(Code::TypeMismatch, "a tensor of %s elements has no size in bytes", dtype_name(dtype).data()));
  }
  return bytes;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) { return nb::inst_ptr<Tensor>(self)->fill_buffer(self, view, flags); }

PyType_Slot tensor_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

[[noreturn]] void refuse(const char* what, const nb::object& given, const char* expected) {
  raise(error(Code::InvalidArgument, "%s is of type '%s', expected is %s", what, Py_TYPE(given.ptr())->tp_name, expected));
}

// from_buffer with whatever Python gives for its arguments.
Tensor checked_from_buffer(const nb::object& buffer, const nb::object& dtype, const nb::object& shape) {
  std::string name;
  std::vector<int64_t> extents;
  if (!nb::try_cast(dtype, name)) refuse("the dtype", dtype, "a name such as 'float32'");
  if (!nb::try_cast(shape, extents)) refuse("the shape", shape, "a sequence of integers of 64 bits");
  return Tensor::from_buffer(buffer, name, std::move(extents));
}

nb::tuple shape_tuple(const Tensor& tensor) {
  nb::list shape;
  for (const int64_t extent : tensor.shape()) shape.append(extent);
  return nb::tuple(shape);
}

std::string describe(const Tensor& tensor) {
  Text type;
  type.add_type(tensor.dtype(), tensor.shape());
  return std::string("tiffin.Tensor(") + type.c_str() + ")";
}

nb::object to_numpy(const nb::object& self) { return nb::module_::import_("tiffin.arrays").attr("to_numpy")(self); }

// For pickle and copy.
nb::object reduce(const nb::object& self) { return nb::module_::import_("tiffin.arrays").attr("reduce")(self); }

nb::object to_array(const nb::object& self, const nb::object& dtype, const nb::object& copy) {
  return nb::module_::import_("tiffin.arrays").attr("to_array")(self, dtype, copy);
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, const uint8_t* data, uint64_t bytes, bool is_read_only, nb::object owner)
    : dtype_(dtype),
      shape_(std::move(shape)),
      data_(const_cast<uint8_t*>(data)),
      bytes_(bytes),
      is_read_only_(is_read_only),
      owner_(std::move(owner)) {
  extents_.assign(shape_.begin(), shape_.end());
  steps_.resize(shape_.size());
  Py_ssize_t step = dtype_bits(dtype_) / 8;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    steps_[axis] = step;
    step *= static_cast<Py_ssize_t>(shape_[axis]);
  }
}

Tensor Tensor::from_buffer(const nb::object& buffer, const std::string& dtype_text, std::vector<int64_t> shape) {
  const DType dtype = parse_dtype(dtype_text);
  if (dtype == DType::Undefined) {
    raise(error(Code::TypeMismatch, "an array has elements of type '%s', which Tiffin does not have", dtype_text.c_str())
              .with_remedy("convert the array to the expected type"));
  }
  const nb::object memory = nb::steal(PyMemoryView_FromObject(buffer.ptr()));
  if (!memory.is_valid()) {
    PyErr_Clear();
    refuse("the buffer", buffer, "an object of the buffer protocol");
  }
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const uint64_t bytes = bytes_of_type(dtype, shape);
  if (!PyBuffer_IsContiguous(&view, 'C') || static_cast<uint64_t>(view.len) != bytes) {
    Text type;
    type.add_type(dtype, shape);
    raise(error(Code::InvalidArgument, "a buffer of %zd bytes was given for %s", view.len, type.c_str()));
  }
  return Tensor(dtype, std::move(shape), static_cast<const uint8_t*>(view.buf), bytes, view.readonly != 0, memory);
}

Tensor Tensor::from_dlpack(const nb::object& producer, bool is_writable) {
  using Imported = nb::ndarray<nb::ro>;
  Imported found;
  nb::ndarray<> writable;
  const bool is_imported = is_writable ? nb::try_cast(producer, writable) : nb::try_cast(producer, found);
  if (!is_imported) {
    raise(error(Code::InvalidArgument, "an object of type '%s' gives no %smemory through DLPack", Py_TYPE(producer.ptr())->tp_name,
                is_writable ? "writable " : ""));
  }
  if (is_writable) found = Imported(writable);
  if (found.device_type() != nb::device::cpu::value && found.device_type() != nb::device::cuda_host::value) {
    raise(error(Code::DeviceUnavailable, "a tensor lies on DLPack's device type %d, expected is memory of the CPU", found.device_type())
              .with_remedy("copy the tensor to the CPU first"));
  }
  const auto type = found.dtype();
  const DType dtype = runtime::from_dlpack({type.code, type.bits, type.lanes});
  if (dtype == DType::Undefined) {
    raise(error(Code::TypeMismatch, "a tensor has elements of DLPack's type code %d with %d bits, which Tiffin does not have", type.code, type.bits));
  }
  std::vector<int64_t> shape, strides;
  for (size_t axis = 0; axis < found.ndim(); ++axis) {
    shape.push_back(static_cast<int64_t>(found.shape(axis)));
    strides.push_back(found.stride(axis));
  }
  auto* held = new Imported(found);
  const nb::capsule owner(held, [](void* pointer) noexcept { delete static_cast<Imported*>(pointer); });
  const uint64_t bytes = bytes_of_type(dtype, shape);
  Tensor tensor(dtype, std::move(shape), static_cast<const uint8_t*>(found.data()), bytes, !is_writable, owner);
  tensor.set_strides(std::move(strides));
  return tensor;
}

void Tensor::set_strides(std::vector<int64_t> strides) {
  strides_ = std::move(strides);
  const DLTensor tensor = view();
  if (runtime::is_compact(tensor)) {
    strides_.clear();
    return;
  }
  for (size_t axis = 0; axis < strides_.size(); ++axis) steps_[axis] = static_cast<Py_ssize_t>(strides_[axis]) * (dtype_bits(dtype_) / 8);
}

DLTensor Tensor::view() const {
  DLTensor tensor{};
  tensor.data = data_;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape_.size());
  tensor.dtype = runtime::to_dlpack(dtype_);
  tensor.shape = const_cast<int64_t*>(shape_.data());
  tensor.strides = strides_.empty() ? nullptr : const_cast<int64_t*>(strides_.data());
  return tensor;
}

std::vector<uint8_t> Tensor::compact_copy() const {
  std::vector<uint8_t> copy(bytes_);
  check(runtime::copy_compact(view(), dtype_, copy.data(), bytes_));
  return copy;
}

params::ParamEntry Tensor::to_entry(const std::string& name, std::vector<uint8_t>& copy) const {
  params::ParamEntry entry;
  entry.name = name;
  entry.dtype = dtype_;
  entry.shape = shape_;
  entry.bytes = bytes_;
  entry.data = data_;
  entry.tvm_code = tvm_code_;
  entry.tvm_bits = tvm_bits_;
  if (!strides_.empty()) {
    copy = compact_copy();
    entry.data = copy.data();
  }
  static constexpr uint8_t kNothing = 0;
  if (entry.data == nullptr) entry.data = &kNothing;  // an empty tensor may have no memory
  return entry;
}

nb::bytes Tensor::to_bytes() const {
  if (strides_.empty()) return nb::bytes(data_, bytes_);
  const std::vector<uint8_t> copy = compact_copy();
  return nb::bytes(copy.data(), copy.size());
}

nb::object Tensor::to_dlpack(const nb::object& self, const nb::kwargs& options) const {
  const DLDataType type = runtime::to_dlpack(dtype_);
  if (type.bits == 0) {
    PyErr_Format(PyExc_BufferError, "DLPack has no element type for %s", dtype_name(dtype_).data());
    throw nb::python_error();
  }
  const nb::dlpack::dtype dtype{type.code, type.bits, type.lanes};
  const std::vector<size_t> shape(shape_.begin(), shape_.end());
  nb::dict asked;
  for (const auto& [name, value] : options) asked[name] = value;
  const auto export_from = [&](auto array) { return nb::cast(array).attr("__dlpack__")(**asked); };
  // Only DLPack 1.0 can say that memory is read-only: who asks for less gets a copy.
  const nb::object version = asked.get("max_version", nb::none());
  const bool hides_read_only = is_read_only_ && (version.is_none() || nb::cast<long>(version[0]) < 1);
  if (hides_read_only || asked.get("copy", nb::none()).ptr() == Py_True) {
    if (asked.contains("copy")) asked["copy"] = nb::none();
    auto* copy = new std::vector<uint8_t>(compact_copy());
    const nb::capsule owner(copy, [](void* pointer) noexcept { delete static_cast<std::vector<uint8_t>*>(pointer); });
    return export_from(nb::ndarray<nb::array_api>(copy->data(), shape.size(), shape.data(), owner, nullptr, dtype, nb::device::cpu::value));
  }
  const int64_t* strides = strides_.empty() ? nullptr : strides_.data();
  if (is_read_only_) {
    return export_from(nb::ndarray<nb::array_api, nb::ro>(data_, shape.size(), shape.data(), self, strides, dtype, nb::device::cpu::value));
  }
  return export_from(nb::ndarray<nb::array_api>(data_, shape.size(), shape.data(), self, strides, dtype, nb::device::cpu::value));
}

int Tensor::fill_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const char* format = nullptr;
  for (const FormatRow& row : kFormats) {
    if (row.dtype == dtype_) format = row.format;
  }
  if (format == nullptr) {
    PyErr_Format(PyExc_BufferError, "the buffer protocol has no element type for %s", dtype_name(dtype_).data());
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) != 0 && is_read_only_) {
    PyErr_SetString(PyExc_BufferError, "the tensor is read-only");
    return -1;
  }
  const bool wants_fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && shape_.size() > 1;
  const bool wants_compact = (flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (wants_fortran || (wants_compact && !strides_.empty())) {
    PyErr_SetString(PyExc_BufferError, "the tensor's elements do not lie in the order asked for");
    return -1;
  }
  view->buf = data_;
  view->obj = Py_NewRef(self);
  view->len = static_cast<Py_ssize_t>(bytes_);
  view->itemsize = dtype_bits(dtype_) / 8;
  view->readonly = is_read_only_ ? 1 : 0;
  view->ndim = static_cast<int>(extents_.size());
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? extents_.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? steps_.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

void define_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", nb::type_slots(tensor_slots))
      .def_static("from_buffer", &checked_from_buffer, nb::arg("buffer"), nb::arg("dtype"), nb::arg("shape"))
      .def_static("from_dlpack", &Tensor::from_dlpack, nb::arg("producer"), nb::arg("is_writable") = false)
      .def_prop_ro("shape", &shape_tuple)
      .def_prop_ro("dtype", [](const Tensor& tensor) { return dtype_name(tensor.dtype()).data(); })
      .def_prop_ro("ndim", [](const Tensor& tensor) { return tensor.shape().size(); })
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def_prop_ro("is_read_only", &Tensor::is_read_only)
      .def("numpy", &to_numpy)
      .def("tobytes", &Tensor::to_bytes)
      .def("__array__", &to_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__", [](const nb::object& self, const nb::kwargs& options) { return nb::cast<const Tensor&>(self).to_dlpack(self, options); })
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__reduce__", &reduce)
      .def("__repr__", &describe);
}

}  // namespace tiffin::python
