// SPDX-License-Identifier: Apache-2.0
// Elements of any type as doubles, for comparing and summing up tensors.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tiffin::golden {

// The type that a tensor's bytes are compared in: its own where elements are numbers of whole bytes; bytes for all others (packed, complex and
// 8-bit floating types).
DType element_type(DType dtype);

// Bytes of an element of such a type.
uint64_t element_bytes(DType element);

// Element `index`; integers beyond 2^53 are rounded.
double element_at(DType element, const uint8_t* bytes, uint64_t index);

// The distance between neighbouring values of the type at that magnitude; 1 for integers.
double ulp_at(DType element, double magnitude);

}  // namespace tiffin::golden
