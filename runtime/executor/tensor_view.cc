// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/tensor_view.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "abi/artifact.h"
#include "base/text.h"

namespace tiffin::runtime {
namespace {

struct TypeRow {
  DType dtype;
  DLDataType dlpack;
};

// Codes above kDLBool are those of later versions of DLPack for the 8- and 4-bit floats.
constexpr TypeRow kTypes[] = {
    {DType::Float32, {kDLFloat, 32, 1}},   {DType::Float64, {kDLFloat, 64, 1}},     {DType::Float16, {kDLFloat, 16, 1}},
    {DType::BFloat16, {kDLBfloat, 16, 1}}, {DType::Int8, {kDLInt, 8, 1}},           {DType::Int16, {kDLInt, 16, 1}},
    {DType::Int32, {kDLInt, 32, 1}},       {DType::Int64, {kDLInt, 64, 1}},         {DType::UInt8, {kDLUInt, 8, 1}},
    {DType::UInt16, {kDLUInt, 16, 1}},     {DType::UInt32, {kDLUInt, 32, 1}},       {DType::UInt64, {kDLUInt, 64, 1}},
    {DType::Bool, {kDLBool, 8, 1}},        {DType::Complex64, {kDLComplex, 64, 1}}, {DType::Complex128, {kDLComplex, 128, 1}},
    {DType::Float8E4M3FN, {10, 8, 1}},     {DType::Float8E4M3FNUZ, {11, 8, 1}},     {DType::Float8E5M2, {12, 8, 1}},
    {DType::Float8E5M2FNUZ, {13, 8, 1}},   {DType::Float8E8M0, {14, 8, 1}},         {DType::Float4E2M1, {17, 4, 1}},
    {DType::Int4, {kDLInt, 4, 1}},         {DType::UInt4, {kDLUInt, 4, 1}},         {DType::Int2, {kDLInt, 2, 1}},
    {DType::UInt2, {kDLUInt, 2, 1}},       {DType::Bool, {kDLUInt, 1, 1}},
};

bool has_elements(std::span<const int64_t> shape) {
  for (const int64_t extent : shape) {
    if (extent == 0) return false;
  }
  return true;
}

std::span<const int64_t> shape_of(const DLTensor& tensor) { return {tensor.shape, static_cast<size_t>(tensor.ndim)}; }

const char* name_of(DType dtype) { return dtype_name(dtype).data(); }  // names are string literals

}  // namespace

DLDataType to_dlpack(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.dlpack;
  }
  return {kDLOpaqueHandle, 0, 0};
}

DType from_dlpack(DLDataType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dlpack.code == dtype.code && row.dlpack.bits == dtype.bits && dtype.lanes == 1) return row.dtype;
  }
  return DType::Undefined;
}

Status check_type(DType dtype, std::span<const int64_t> shape, const TensorSpec& spec) {
  if (dtype != spec.dtype)
    return error(Code::TypeMismatch, "%s '%s' is %s, expected is %s", spec.role, spec.name, name_of(dtype), name_of(spec.dtype));
  const bool is_equal = shape.size() == spec.shape.size() && (shape.empty() || memcmp(shape.data(), spec.shape.data(), shape.size_bytes()) == 0);
  if (is_equal) return {};
  Text actual, expected;
  actual.add_shape(shape);
  expected.add_shape(spec.shape);
  return error(Code::ShapeMismatch, "%s '%s' has shape %s, expected is %s", spec.role, spec.name, actual.c_str(), expected.c_str());
}

Status check_tensor(const DLTensor& tensor, const TensorSpec& spec) {
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    return error(Code::DeviceUnavailable, "%s '%s' lies on device type %d, expected is memory of the CPU", spec.role, spec.name,
                 static_cast<int>(tensor.device.device_type));
  }
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return error(Code::InvalidArgument, "%s '%s' has rank %d and %s shape", spec.role, spec.name, tensor.ndim, tensor.shape == nullptr ? "no" : "a");
  }
  TIFFIN_TRY(check_type(from_dlpack(tensor.dtype), shape_of(tensor), spec));
  if (tensor.data == nullptr && has_elements(shape_of(tensor))) return error(Code::InvalidArgument, "%s '%s' has no data", spec.role, spec.name);
  return {};
}

const uint8_t* first_byte(const DLTensor& tensor) { return static_cast<const uint8_t*>(tensor.data) + tensor.byte_offset; }

bool is_compact(const DLTensor& tensor) {
  if (tensor.strides == nullptr || !has_elements(shape_of(tensor))) return true;
  int64_t expected = 1;
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

Status copy_compact(const DLTensor& tensor, DType dtype, uint8_t* out, uint64_t bytes) {
  if (bytes == 0) return {};
  if (is_compact(tensor)) {
    memcpy(out, first_byte(tensor), bytes);
    return {};
  }
  const int bits = dtype_bits(dtype);
  if (bits % 8 != 0) return error(Code::InvalidArgument, "a tensor of packed %s elements has strides, expected are compact ones", name_of(dtype));
  const auto element_bytes = static_cast<size_t>(bits / 8);
  // An odometer over the axes: strides may be zero or negative.
  int64_t index[TIFFIN_MAX_RANK] = {};
  const uint8_t* from = first_byte(tensor);
  for (const uint8_t* end = out + bytes; out < end; out += element_bytes) {
    memcpy(out, from, element_bytes);
    for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
      const int64_t step = tensor.strides[axis] * static_cast<int64_t>(element_bytes);
      from += step;
      if (++index[axis] < tensor.shape[axis]) break;
      from -= step * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return {};
}

}  // namespace tiffin::runtime
