// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

namespace tiffin {
namespace {

struct Row {
  char name[16];  // not a pointer, which would take a relocation
  uint8_t bits;
};

// Indexed by code.
constexpr Row kRows[kDTypeCount] = {
    {"undefined", 0},
    {"float32", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", 0},
    {"bool", 8},
    {"float16", 16},
    {"float64", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8_e4m3fn", 8},
    {"float8_e4m3fnuz", 8},
    {"float8_e5m2", 8},
    {"float8_e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4_e2m1fn", 4},
    {"float8_e8m0fnu", 8},
    {"uint2", 2},
    {"int2", 2},
};

const Row& row(DType dtype) {
  const auto code = static_cast<uint8_t>(dtype);
  return kRows[code < kDTypeCount ? code : 0];
}

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

DType parse_dtype(std::string_view name) {
  for (uint8_t code = 1; code < kDTypeCount; ++code) {
    if (kRows[code].name == name) return static_cast<DType>(code);
  }
  return DType::Undefined;
}

int dtype_bits(DType dtype) { return row(dtype).bits; }

bool storage_bytes(DType dtype, uint64_t count, uint64_t* out_bytes) {
  const auto bits = static_cast<uint64_t>(dtype_bits(dtype));
  uint64_t total_bits = 0;
  if (bits == 0 || __builtin_mul_overflow(count, bits, &total_bits) || total_bits > UINT64_MAX - 7) return false;
  *out_bytes = (total_bits + 7) / 8;
  return true;
}

}  // namespace tiffin
