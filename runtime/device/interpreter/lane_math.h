// SPDX-License-Identifier: Apache-2.0
// Float operations that a baseline CPU has no instruction for, exact and without libm: rounding to whole numbers, remainder, fused multiply-add.
#pragma once

namespace tiffin::runtime {

// To the nearest whole number, ties to even; NaN and infinity stay.
template <class T>
T round_to_even(T x) {
  constexpr T kWhole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);  // every value from here on is whole
  const T magnitude = __builtin_fabs(x);
  if (!(magnitude < kWhole)) return x;
  return static_cast<T>(__builtin_copysign((magnitude + kWhole) - kWhole, x));
}

template <class T>
T round_down(T x) {
  const T nearest = round_to_even(x);
  return static_cast<T>(__builtin_copysign(nearest > x ? nearest - 1 : nearest, x));
}

template <class T>
T round_up(T x) {
  const T nearest = round_to_even(x);
  return static_cast<T>(__builtin_copysign(nearest < x ? nearest + 1 : nearest, x));
}

template <class T>
T round_to_zero(T x) {
  return x < 0 ? round_up(x) : round_down(x);
}

// C's fmod; of float32 too, because the remainder of two float32 is one.
double remainder_of(double a, double b);

// a * b + c, rounded once.
float fused_multiply_add(float a, float b, float c);
double fused_multiply_add(double a, double b, double c);

}  // namespace tiffin::runtime
