// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/tensor_entry.h"

#include "base/text.h"
#include "runtime/capi/boundary.h"

namespace tiffin::runtime {
namespace {

// An entry over the tensor's own bytes, or over a compact copy in `copies`.
Result<params::ParamEntry> to_entry(const char* function, const char* name, const DLTensor& tensor, Arena& copies) {
  TIFFIN_TRY(require_pointers(function, {name}));
  params::ParamEntry entry;
  entry.name = name;
  entry.dtype = from_dlpack(tensor.dtype);
  if (tensor.ndim < 0 || tensor.ndim > static_cast<int32_t>(TIFFIN_MAX_RANK)) {
    return error(Code::ParamShapeMismatch, "parameter '%s' has rank %d, at most %u is possible", name, tensor.ndim, TIFFIN_MAX_RANK);
  }
  entry.shape = {tensor.shape, static_cast<size_t>(tensor.ndim)};
  TIFFIN_TRY(check_tensor(tensor, {"parameter", name, entry.dtype, entry.shape}));
  uint64_t count = 1;
  for (const int64_t extent : entry.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) {
      Text shape;
      shape.add_shape(entry.shape);
      return error(Code::ParamShapeMismatch, "parameter '%s' has the impossible shape %s", name, shape.c_str());
    }
  }
  if (!storage_bytes(entry.dtype, count, &entry.bytes)) {
    return error(Code::ParamTypeMismatch, "parameter '%s' has a type that Tiffin lacks (DLPack code %u, %u bits)", name, tensor.dtype.code,
                 tensor.dtype.bits);
  }
  entry.data = first_byte(tensor);
  if (is_compact(tensor)) return entry;
  auto* copy = static_cast<uint8_t*>(copies.allocate_bytes(static_cast<size_t>(entry.bytes)));
  if (copy == nullptr) return error(Code::OutOfMemory, "no memory for parameter '%s'", name);
  TIFFIN_TRY(copy_compact(tensor, entry.dtype, copy, entry.bytes));
  entry.data = copy;
  return entry;
}

}  // namespace

Result<params::ParamSource> to_source(const char* function, const char* const* names, const DLTensor* tensors, size_t count, Arena& memory) {
  if (count > 0) TIFFIN_TRY(require_pointers(function, {names, tensors}));
  auto* entries = memory.allocate<params::ParamEntry>(count);
  if (entries == nullptr) return error(Code::OutOfMemory, "no memory for %zu parameters", count);
  for (size_t i = 0; i < count; ++i) {
    TIFFIN_ASSIGN_OR_RETURN(entries[i], to_entry(function, names[i], tensors[i], memory));
  }
  return params::ParamSource{{entries, count}};
}

}  // namespace tiffin::runtime
