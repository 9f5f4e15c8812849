// SPDX-License-Identifier: Apache-2.0
// A block of elements on the evaluation stack of a vector expression, and the arithmetic on it.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tiffin::params {

inline constexpr int kRegisterElements = 64;

// float16, bfloat16, float32 and float64 as double, which holds each exactly; integers and bool as int64 (uint64 by its bit pattern).
struct VectorRegister {
  DType dtype = DType::Undefined;
  union {
    double floats[kRegisterElements];
    int64_t integers[kRegisterElements];
  };
};

constexpr bool is_register_dtype(DType dtype) { return is_standard_float(dtype) || is_standard_int(dtype) || dtype == DType::Bool; }

// `value` rounded once, to nearest even, to a floating dtype.
double round_to(DType dtype, double value);

// Reads `count` elements of `dtype` at byte addresses base + offsets[i] * size.
void load_elements(VectorRegister& out, DType dtype, const uint8_t* base, const int64_t* offsets, int count);
// Writes `count` elements one after the other; NaN in its canonical form, so that machines agree on its bits.
void store_elements(const VectorRegister& in, uint8_t* out, int count);

// Converts in place: rounds once; to integers truncates and saturates, NaN to 0; to bool as != 0.
void cast_elements(VectorRegister& in_out, DType dtype, int count);

enum class Arithmetic { Add, Subtract, Multiply, Divide };
// left = left OP right, both of the same dtype: floats round once, integers wrap (Divide is for floats).
void apply_arithmetic(Arithmetic operation, VectorRegister& left, const VectorRegister& right, int count);
void apply_square_root(VectorRegister& in_out, int count);

}  // namespace tiffin::params
