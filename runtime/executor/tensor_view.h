// SPDX-License-Identifier: Apache-2.0
// Tensors that cross the runtime's border in DLPack's form: their types, whether they fit, and copying them into compact buffers.
#pragma once

#include <cstdint>
#include <span>

#include "abi/tensor.h"
#include "base/dtype.h"
#include "base/status.h"

namespace tiffin::runtime {

DLDataType to_dlpack(DType dtype);
// Undefined for types that Tiffin does not have.
DType from_dlpack(DLDataType dtype);

// What a tensor must be.
struct TensorSpec {
  const char* role;  // "input" or "output"
  const char* name;
  DType dtype;
  std::span<const int64_t> shape;
};

// TypeMismatch or ShapeMismatch naming the tensor with actual and expected; DeviceUnavailable for memory that is not the CPU's; InvalidArgument
// for a tensor that contradicts itself.
Status check_tensor(const DLTensor& tensor, const TensorSpec& spec);
Status check_type(DType dtype, std::span<const int64_t> shape, const TensorSpec& spec);

// Row-major without gaps.
bool is_compact(const DLTensor& tensor);
const uint8_t* first_byte(const DLTensor& tensor);

// Copies a tensor whose type was checked, whatever its strides, into `bytes` compact ones. InvalidArgument for strided packed types.
Status copy_compact(const DLTensor& tensor, DType dtype, uint8_t* out, uint64_t bytes);

}  // namespace tiffin::runtime
