// SPDX-License-Identifier: Apache-2.0
// The tensor that crosses between Python and the runtime: borrowed memory, and the Python object that keeps it alive.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "abi/tensor.h"
#include "base/dtype.h"
#include "base/params/param_source.h"

namespace tiffin::python {

namespace nb = nanobind;

class Tensor {
 public:
  // Compact memory of the given bytes, which `owner` keeps alive.
  Tensor(DType dtype, std::vector<int64_t> shape, const uint8_t* data, uint64_t bytes, bool is_read_only, nb::object owner);
  // A compact object of the buffer protocol whose elements are of that type; the buffer's own format is not looked at.
  static Tensor from_buffer(const nb::object& buffer, const std::string& dtype, std::vector<int64_t> shape);
  // Whatever has __dlpack__, with its strides; `is_writable` refuses read-only memory.
  static Tensor from_dlpack(const nb::object& producer, bool is_writable);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  bool is_read_only() const { return is_read_only_; }

  // Borrowed, for calls into the runtime.
  DLTensor view() const;
  // An entry of a parameter source; a strided tensor is copied into `copy`.
  params::ParamEntry to_entry(const std::string& name, std::vector<uint8_t>& copy) const;
  // How TVM's file spelt the type, kept so that it is written the same again.
  void set_tvm_type(uint8_t code, uint8_t bits) { tvm_code_ = code, tvm_bits_ = bits; }
  nb::bytes to_bytes() const;
  nb::object to_dlpack(const nb::object& self, const nb::kwargs& options) const;
  int fill_buffer(PyObject* self, Py_buffer* view, int flags);

 private:
  void set_strides(std::vector<int64_t> strides);
  std::vector<uint8_t> compact_copy() const;

  DType dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;             // in elements; empty: compact
  std::vector<Py_ssize_t> extents_, steps_;  // shape and strides in bytes, for the buffer protocol
  uint8_t* data_;
  uint64_t bytes_;
  bool is_read_only_;
  nb::object owner_;
  uint8_t tvm_code_ = 0, tvm_bits_ = 0;
};

// tiffin._runtime.Tensor.
void define_tensor(nb::module_& module);

}  // namespace tiffin::python
