// SPDX-License-Identifier: Apache-2.0
// Float operations that a baseline CPU has no instruction for, exact and without libm: rounding to whole numbers, remainder, fused multiply-add.
#pragma once

namespace tiffin::runtime {

// To a whole number: the nearest, ties to even; at most; at least; towards zero. NaN and infinity stay, so does the sign of a zero. A float32 is
// rounded in the same way.
double round_to_even(double x);
double round_down(double x);
double round_up(double x);
double round_to_zero(double x);

// C's fmod; of float32 too, because the remainder of two float32 is one.
double remainder_of(double a, double b);

// a * b + c, rounded once.
float fused_multiply_add(float a, float b, float c);
double fused_multiply_add(double a, double b, double c);

}  // namespace tiffin::runtime
