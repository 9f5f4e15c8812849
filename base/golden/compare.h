// SPDX-License-Identifier: Apache-2.0
// Comparing what a run computes with what was recorded: whole outputs element by element, buffers on the way by their sketches.
#pragma once

#include <cstdint>
#include <span>

#include "abi/golden.h"
#include "base/dtype.h"

namespace tiffin::golden {

struct Difference {
  bool is_accepted = true;
  // The largest distance in units of the last place of the expected element, or of absolute / relative where that is larger, so that elements
  // near zero count as the tensor's scale does; of integers the largest difference. Infinite where one of the two is not finite.
  double worst_ulp = 0;
  uint64_t index = 0;  // of the first element that is not accepted, with both values
  double actual = 0, expected = 0;
};

// Both have the compact elements of one tensor. Types that golden::element_type has as bytes are compared byte by byte.
Difference compare(DType dtype, std::span<const uint8_t> expected, std::span<const uint8_t> actual, const tiffin_golden_tolerance& tolerance);

// Fills in all but step, buffer and tolerances.
void take_sketch(DType dtype, std::span<const uint8_t> bytes, tiffin_golden_sketch* out);

// True when a tensor with the sketch `actual` cannot be the one that was recorded, up to the recorded tolerance. Sums may differ by what independent
// errors of its elements amount to, and an eighth of the tolerance in common.
bool departs(const tiffin_golden_sketch& recorded, const tiffin_golden_sketch& actual);

}  // namespace tiffin::golden
