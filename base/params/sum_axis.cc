// SPDX-License-Identifier: Apache-2.0
#include "base/params/sum_axis.h"

#include <cstring>

#include "base/params/vector_register.h"

namespace tiffin::params {
namespace {

// One after the other, which lets the additions run as vectors.
bool is_contiguous(const int64_t* offsets, int count) {
  for (int i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}

template <class T>
void sum(const uint8_t* base, const int64_t* offsets, int count, int64_t extent, int64_t axis_stride, int64_t* out) {
  uint32_t sums[kRegisterElements] = {};
  const auto element = [base](int64_t offset) {
    T value;
    memcpy(&value, base + offset * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return static_cast<uint32_t>(value);
  };
  if (axis_stride == 1 || axis_stride == -1) {
    for (int i = 0; i < count; ++i) {
      for (int64_t k = 0; k < extent; ++k) sums[i] += element(offsets[i] + k * axis_stride);
    }
  } else if (is_contiguous(offsets, count)) {
    for (int64_t k = 0; k < extent; ++k) {
      for (int i = 0; i < count; ++i) sums[i] += element(offsets[0] + k * axis_stride + i);
    }
  } else {
    for (int64_t k = 0; k < extent; ++k) {
      for (int i = 0; i < count; ++i) sums[i] += element(offsets[i] + k * axis_stride);
    }
  }
  for (int i = 0; i < count; ++i) out[i] = static_cast<int32_t>(sums[i]);
}

}  // namespace

void sum_axis(DType dtype, const uint8_t* base, const int64_t* offsets, int count, int64_t extent, int64_t stride, int64_t* out) {
  switch (dtype) {
    case DType::Int8:
      return sum<int8_t>(base, offsets, count, extent, stride, out);
    case DType::UInt8:
      return sum<uint8_t>(base, offsets, count, extent, stride, out);
    case DType::Int16:
      return sum<int16_t>(base, offsets, count, extent, stride, out);
    case DType::UInt16:
      return sum<uint16_t>(base, offsets, count, extent, stride, out);
    case DType::UInt32:
      return sum<uint32_t>(base, offsets, count, extent, stride, out);
    default:
      return sum<int32_t>(base, offsets, count, extent, stride, out);
  }
}

}  // namespace tiffin::params
