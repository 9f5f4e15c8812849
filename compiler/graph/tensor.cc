// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/tensor.h"

#include <bit>
#include <cmath>

namespace tiffin::graph {
namespace {

template <class Out>
Out element_as(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::Float32:
      return static_cast<Out>(tensor.at<float>(i));
    case DType::Float64:
      return static_cast<Out>(tensor.at<double>(i));
    case DType::Float16:
      return static_cast<Out>(half_to_float(tensor.at<uint16_t>(i)));
    case DType::BFloat16:
      return static_cast<Out>(bfloat16_to_float(tensor.at<uint16_t>(i)));
    case DType::Int8:
      return static_cast<Out>(tensor.at<int8_t>(i));
    case DType::Int16:
      return static_cast<Out>(tensor.at<int16_t>(i));
    case DType::Int32:
      return static_cast<Out>(tensor.at<int32_t>(i));
    case DType::Int64:
      return static_cast<Out>(tensor.at<int64_t>(i));
    case DType::Bool:
    case DType::UInt8:
      return static_cast<Out>(tensor.at<uint8_t>(i));
    case DType::UInt16:
      return static_cast<Out>(tensor.at<uint16_t>(i));
    case DType::UInt32:
      return static_cast<Out>(tensor.at<uint32_t>(i));
    case DType::UInt64:
      return static_cast<Out>(tensor.at<uint64_t>(i));
    default:
      return Out{};
  }
}

template <class Out>
std::vector<Out> elements_as(const Tensor& tensor) {
  std::vector<Out> out(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element_as<Out>(tensor, static_cast<int64_t>(i));
  return out;
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::vector<uint8_t> bytes) : dtype_(dtype), shape_(std::move(shape)) {
  auto owned = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  bytes_ = *owned;
  owner_ = std::move(owned);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(bytes), owner_(std::move(owner)) {}

std::vector<int64_t> Tensor::to_int64s() const { return elements_as<int64_t>(*this); }

std::vector<double> Tensor::to_doubles() const { return elements_as<double>(*this); }

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  Tensor out = *this;
  out.shape_ = std::move(shape);
  return out;
}

bool Tensor::equals(const Tensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ && bytes_.size() == other.bytes_.size() &&
         (bytes_.empty() || memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -magnitude : magnitude;
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));  // NaN stays NaN, quiet
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);                             // rounds to infinity
  if (magnitude < 0x38800000) {                                                                         // subnormal half: units of 2^-24
    const float scaled = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(scaled));
  }
  const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace tiffin::graph
