// SPDX-License-Identifier: Apache-2.0
// The meaning of kernel IR's operations on one lane: what the interpreter executes and what every back end must compute, bit for bit
// (which NaN an operation returns is left open). A value is the element's bits in the low end of a uint64_t, the rest zeros.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

// True for the element types that kernel IR computes with or stores: bool, all standard integers and floats.
bool is_kernel_dtype(DType dtype);

// Bytes of one element in memory.
int element_bytes(DType dtype);

// Bits of an integer (wrapped) or of a double rounded once to a float type.
uint64_t integer_bits(DType dtype, int64_t value);
uint64_t float_bits(DType dtype, double value);
// The other direction: sign- or zero-extended; for 64-bit unsigned types the same bits.
int64_t integer_value(DType dtype, uint64_t bits);
double float_value(DType dtype, uint64_t bits);
bool is_nan(DType dtype, uint64_t bits);

// `dtype` is that of the operands. Reductions are not among the lane operations. The verifier says which combinations exist.
uint64_t apply_unary(UnaryOp op, DType dtype, uint64_t a);
uint64_t apply_binary(BinaryOp op, DType dtype, uint64_t a, uint64_t b);
// a * b + c: rounded once when `fused`, else the product is rounded too.
uint64_t apply_fma(DType dtype, uint64_t a, uint64_t b, uint64_t c, bool fused);
uint64_t apply_cast(DType from, DType to, uint64_t bits);

}  // namespace tiffin::kernel
