// SPDX-License-Identifier: Apache-2.0
// Typed access to tensors for the evaluators: which C++ type an element type is computed in, and vectors of it out of and into tensors.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "compiler/graph/tensor.h"

namespace tiffin::reference {

using graph::Tensor;

// float16 and bfloat16 are computed in float, bool in uint8_t (0 or 1), everything else in the type of its name.
template <class T>
struct TypeTag {
  using type = T;
};

// Calls `body` with the TypeTag of the dtype's computing type; false when there is none (strings, complex, 8-bit floats and smaller).
template <class Body>
bool visit_float(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16:
      body(TypeTag<float>{});
      return true;
    case DType::Float64:
      body(TypeTag<double>{});
      return true;
    default:
      return false;
  }
}

template <class Body>
bool visit_integer(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::Int8:
      body(TypeTag<int8_t>{});
      return true;
    case DType::Int16:
      body(TypeTag<int16_t>{});
      return true;
    case DType::Int32:
      body(TypeTag<int32_t>{});
      return true;
    case DType::Int64:
      body(TypeTag<int64_t>{});
      return true;
    case DType::UInt8:
      body(TypeTag<uint8_t>{});
      return true;
    case DType::UInt16:
      body(TypeTag<uint16_t>{});
      return true;
    case DType::UInt32:
      body(TypeTag<uint32_t>{});
      return true;
    case DType::UInt64:
      body(TypeTag<uint64_t>{});
      return true;
    default:
      return false;
  }
}

template <class Body>
bool visit_number(DType dtype, Body&& body) {
  return visit_float(dtype, body) || visit_integer(dtype, body);
}

template <class Body>
bool visit_any(DType dtype, Body&& body) {
  if (dtype != DType::Bool) return visit_number(dtype, body);
  body(TypeTag<uint8_t>{});
  return true;
}

// Calls `body` with an unsigned type of the element's size, for what only moves elements; false below 8 bits, and for strings and complex128.
template <class Body>
bool visit_bits(DType dtype, Body&& body) {
  switch (dtype_bits(dtype)) {
    case 8:
      body(TypeTag<uint8_t>{});
      return true;
    case 16:
      body(TypeTag<uint16_t>{});
      return true;
    case 32:
      body(TypeTag<uint32_t>{});
      return true;
    case 64:
      body(TypeTag<uint64_t>{});
      return true;
    default:
      return false;
  }
}

// The elements as their bytes stand. Precondition: T has the element's size.
template <class T>
std::vector<T> raw_elements(const Tensor& tensor) {
  std::vector<T> out(static_cast<size_t>(tensor.num_elements()));
  if (!out.empty()) memcpy(out.data(), tensor.bytes().data(), out.size() * sizeof(T));
  return out;
}

// The elements in the dtype's computing type, which T must be.
template <class T>
std::vector<T> load(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, float>) {
    if (tensor.dtype() == DType::Float16 || tensor.dtype() == DType::BFloat16) {
      std::vector<float> out(static_cast<size_t>(tensor.num_elements()));
      const auto convert = tensor.dtype() == DType::Float16 ? graph::half_to_float : graph::bfloat16_to_float;
      for (size_t i = 0; i < out.size(); ++i) out[i] = convert(tensor.at<uint16_t>(static_cast<int64_t>(i)));
      return out;
    }
  }
  return raw_elements<T>(tensor);
}

// The inverse: float is rounded to float16 and bfloat16.
template <class T>
Tensor store(DType dtype, std::vector<int64_t> shape, const std::vector<T>& elements) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::Float16 || dtype == DType::BFloat16) {
      const auto convert = dtype == DType::Float16 ? graph::float_to_half : graph::float_to_bfloat16;
      std::vector<uint16_t> bits(elements.size());
      for (size_t i = 0; i < bits.size(); ++i) bits[i] = convert(elements[i]);
      return Tensor::from<uint16_t>(dtype, std::move(shape), bits);
    }
  }
  return Tensor::from<T>(dtype, std::move(shape), elements);
}

// Integers wrap: computed in uint64_t and cut to T, which is the wrapped result for every width and sign.
template <class T>
constexpr uint64_t widen(T value) {
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(widen(a) + widen(b));
  else
    return a + b;
}
template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(widen(a) - widen(b));
  else
    return a - b;
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(widen(a) * widen(b));
  else
    return a * b;
}

// What sums of T accumulate in: double for floats; for integers their wrapped sum in 64 bits.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
template <class T>
Accumulator<T> accumulated(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return widen(value);
}

}  // namespace tiffin::reference
