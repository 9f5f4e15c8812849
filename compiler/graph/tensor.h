// SPDX-License-Identifier: Apache-2.0
// An immutable tensor of the compiler: constants of a graph and values of the reference evaluator. Copies share the bytes, which may lie in a
// mapped file. Strings are not held.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "compiler/graph/type.h"

namespace tiffin::graph {

class Tensor {
 public:
  Tensor() = default;
  // Owns a copy of `bytes`: compact row-major, little-endian, packed below 8 bits; its size must be storage_bytes(dtype, elements).
  Tensor(DType dtype, std::vector<int64_t> shape, std::vector<uint8_t> bytes);
  // Borrows `bytes`, which `owner` keeps alive. They need not be aligned.
  Tensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes, std::shared_ptr<const void> owner);

  template <class T>
  static Tensor from(DType dtype, std::vector<int64_t> shape, std::span<const T> elements) {
    const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
    return Tensor(dtype, std::move(shape), std::vector<uint8_t>(first, first + elements.size_bytes()));
  }
  static Tensor int64s(std::span<const int64_t> elements) { return from<int64_t>(DType::Int64, {static_cast<int64_t>(elements.size())}, elements); }
  static Tensor scalar_float(float value) { return from<float>(DType::Float32, {}, {&value, 1}); }
  static Tensor scalar_int64(int64_t value) { return from<int64_t>(DType::Int64, {}, {&value, 1}); }

  bool is_empty() const { return dtype_ == DType::Undefined; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  size_t rank() const { return shape_.size(); }
  int64_t num_elements() const { return graph::num_elements(shape_); }
  std::span<const uint8_t> bytes() const { return bytes_; }
  Type type() const { return Type::with_shape(dtype_, shape_); }

  // Element `index` in row-major order; T must have the dtype's size.
  template <class T>
  T at(int64_t index) const {
    T value;
    memcpy(&value, bytes_.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
    return value;
  }
  // The elements converted to int64 (integers and bool) or double (floats as well). Precondition: such a dtype.
  std::vector<int64_t> to_int64s() const;
  std::vector<double> to_doubles() const;

  // The same bytes under another shape of as many elements.
  Tensor reshaped(std::vector<int64_t> shape) const;
  // True when dtype, shape and all bytes are equal.
  bool equals(const Tensor& other) const;

 private:
  DType dtype_ = DType::Undefined;
  std::vector<int64_t> shape_;
  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
};

// Conversions of the 16-bit storage types, round to nearest even.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

}  // namespace tiffin::graph
