// SPDX-License-Identifier: Apache-2.0
// The names of element types in safetensors files, and how other types are described there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace tiffin::params {

struct SafetensorsType {
  char name[12];  // not a pointer, which would take a relocation
  DType dtype;
  bool is_written;  // false: read, but written by description, because the format wants whole bytes
};

inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {"BOOL", DType::Bool, true},
    {"U8", DType::UInt8, true},
    {"I8", DType::Int8, true},
    {"U16", DType::UInt16, true},
    {"I16", DType::Int16, true},
    {"F16", DType::Float16, true},
    {"BF16", DType::BFloat16, true},
    {"U32", DType::UInt32, true},
    {"I32", DType::Int32, true},
    {"F32", DType::Float32, true},
    {"U64", DType::UInt64, true},
    {"I64", DType::Int64, true},
    {"F64", DType::Float64, true},
    {"C64", DType::Complex64, true},
    {"F8_E4M3", DType::Float8E4M3FN, true},
    {"F8_E5M2", DType::Float8E5M2, true},
    {"F8_E4M3FNUZ", DType::Float8E4M3FNUZ, true},
    {"F8_E5M2FNUZ", DType::Float8E5M2FNUZ, true},
    {"F8_E8M0", DType::Float8E8M0, true},
    {"F4", DType::Float4E2M1, false},
};

// The metadata key of a tensor whose type has no name here is this and the tensor's name; the value is "int4[3,5]", and the tensor itself
// holds the packed bytes as U8.
inline constexpr std::string_view kDescriptionPrefix = "tiffin.dtype.";
inline constexpr std::string_view kMetadataKey = "__metadata__";

}  // namespace tiffin::params
