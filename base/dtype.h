// SPDX-License-Identifier: Apache-2.0
// The element type of tensors and what is known of each: name, bits, class.
#pragma once

#include <cstdint>
#include <string_view>

#include "abi/dtype.h"

namespace tiffin {

// Values are tiffin_dtype's.
enum class DType : uint8_t {
  Undefined = TIFFIN_DTYPE_UNDEFINED,
  Float32 = TIFFIN_DTYPE_FLOAT32,
  UInt8 = TIFFIN_DTYPE_UINT8,
  Int8 = TIFFIN_DTYPE_INT8,
  UInt16 = TIFFIN_DTYPE_UINT16,
  Int16 = TIFFIN_DTYPE_INT16,
  Int32 = TIFFIN_DTYPE_INT32,
  Int64 = TIFFIN_DTYPE_INT64,
  String = TIFFIN_DTYPE_STRING,
  Bool = TIFFIN_DTYPE_BOOL,
  Float16 = TIFFIN_DTYPE_FLOAT16,
  Float64 = TIFFIN_DTYPE_FLOAT64,
  UInt32 = TIFFIN_DTYPE_UINT32,
  UInt64 = TIFFIN_DTYPE_UINT64,
  Complex64 = TIFFIN_DTYPE_COMPLEX64,
  Complex128 = TIFFIN_DTYPE_COMPLEX128,
  BFloat16 = TIFFIN_DTYPE_BFLOAT16,
  Float8E4M3FN = TIFFIN_DTYPE_FLOAT8E4M3FN,
  Float8E4M3FNUZ = TIFFIN_DTYPE_FLOAT8E4M3FNUZ,
  Float8E5M2 = TIFFIN_DTYPE_FLOAT8E5M2,
  Float8E5M2FNUZ = TIFFIN_DTYPE_FLOAT8E5M2FNUZ,
  UInt4 = TIFFIN_DTYPE_UINT4,
  Int4 = TIFFIN_DTYPE_INT4,
  Float4E2M1 = TIFFIN_DTYPE_FLOAT4E2M1,
  Float8E8M0 = TIFFIN_DTYPE_FLOAT8E8M0,
  UInt2 = TIFFIN_DTYPE_UINT2,
  Int2 = TIFFIN_DTYPE_INT2,
};

inline constexpr int kDTypeCount = 27;

// Lower-case name as numpy and ml_dtypes spell it ("float32", "bool", "bfloat16", "float8_e4m3fn"); "undefined" for Undefined and
// codes out of range.
std::string_view dtype_name(DType dtype);

// The dtype of that name, Undefined if there is none.
DType parse_dtype(std::string_view name);

// Bits of one element: 1 byte for bool, 4 and 2 for the packed types, 0 for strings and Undefined.
int dtype_bits(DType dtype);

// True for a code that this version knows and that is not Undefined.
constexpr bool is_known_dtype(uint8_t code) { return code > 0 && code < kDTypeCount; }

constexpr bool is_standard_float(DType d) { return d == DType::Float32 || d == DType::Float64 || d == DType::Float16 || d == DType::BFloat16; }
constexpr bool is_signed_int(DType d) { return d == DType::Int8 || d == DType::Int16 || d == DType::Int32 || d == DType::Int64; }
constexpr bool is_unsigned_int(DType d) { return d == DType::UInt8 || d == DType::UInt16 || d == DType::UInt32 || d == DType::UInt64; }
constexpr bool is_standard_int(DType d) { return is_signed_int(d) || is_unsigned_int(d); }

// Bytes of `count` compact elements (packed types rounded up to a byte); false on overflow, string or Undefined.
[[nodiscard]] bool storage_bytes(DType dtype, uint64_t count, uint64_t* out_bytes);

}  // namespace tiffin
