// SPDX-License-Identifier: Apache-2.0
// Copies a box of elements between two layouts given by strides: one piece of a storage plan, in either direction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/artifact.h"

namespace tiffin::params {

// Extents are at least 1; strides and offsets in elements, of any sign.
struct StridedCopy {
  int rank = 0;
  int64_t extents[TIFFIN_MAX_RANK];
  int64_t from_strides[TIFFIN_MAX_RANK];
  int64_t to_strides[TIFFIN_MAX_RANK];
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

// `element_bytes` is 1, 2, 4, 8 or 16. Neither pointer need be aligned; the two sides do not overlap. The caller has checked the bounds.
void copy_strided(const StridedCopy& copy, const uint8_t* from, uint8_t* to, size_t element_bytes);

}  // namespace tiffin::params
