// SPDX-License-Identifier: Apache-2.0
// The sum along one axis of a parameter, the one operation of a vector expression that reads every element of a large tensor.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tiffin::params {

// out[i] = the 32-bit sum of `extent` integers of `dtype`, `stride` elements apart, from element offsets[i] of `base` on; count <= kRegisterElements.
void sum_axis(DType dtype, const uint8_t* base, const int64_t* offsets, int count, int64_t extent, int64_t stride, int64_t* out);

}  // namespace tiffin::params
