// SPDX-License-Identifier: Apache-2.0
// Elementary functions as expressions, for Float32 and Float64 of any lanes, built from Fma, shifts and rounding: no library, the same bits on
// every target with FMA. Arguments and results as in C: NaN stays NaN, infinities, signed zeros and denormals are treated as IEEE 754 and C's
// Annex F say. Coefficients are own minimax fits (scripts/fit_polynomials.py). Bounds are errors in units in the last place of the result; the
// tests hold them.
//
//   float32           float64
//   exp, expm1   2    3     exp: Cody-Waite reduction by ln 2, degree 6 / 13 (Cody & Waite, Software Manual for the Elementary Functions, 1980)
//   log, log1p   2    3     argument in [sqrt(1/2), sqrt(2)), atanh series in s = f / (2 + f) (Tang, TOMS 16, 1990)
//   sigmoid      3    3     tanh  3  3      erf   2  4
//   sin, cos     2    2     reduced in float64; beyond 2^20 by 2/pi to enough bits (Payne & Hanek, 1983)
//   tan          4    4     asin, acos  3  4      atan  3  3
//   sinh, cosh   4    4     asinh, acosh, atanh  4  4
//   pow          2    4     float32 is computed in float64; float64 with a double-double logarithm
//   fmod         exact
#pragma once

#include "compiler/kernel/builder.h"

namespace tiffin::kernel::math {

Expr exp(Builder& b, Expr x);
Expr expm1(Builder& b, Expr x);
Expr log(Builder& b, Expr x);
Expr log1p(Builder& b, Expr x);
Expr sigmoid(Builder& b, Expr x);
Expr softplus(Builder& b, Expr x);
Expr tanh(Builder& b, Expr x);
Expr erf(Builder& b, Expr x);
Expr sin(Builder& b, Expr x);
Expr cos(Builder& b, Expr x);
Expr tan(Builder& b, Expr x);
Expr asin(Builder& b, Expr x);
Expr acos(Builder& b, Expr x);
Expr atan(Builder& b, Expr x);
Expr sinh(Builder& b, Expr x);
Expr cosh(Builder& b, Expr x);
Expr asinh(Builder& b, Expr x);
Expr acosh(Builder& b, Expr x);
Expr atanh(Builder& b, Expr x);
Expr pow(Builder& b, Expr x, Expr y);
// x - trunc(x / y) * y, exact.
Expr fmod(Builder& b, Expr x, Expr y);

// Building blocks, also of use elsewhere.
Expr is_nan(Builder& b, Expr x);
Expr is_inf(Builder& b, Expr x);
// The magnitude of `x` with the sign of `sign`.
Expr copy_sign(Builder& b, Expr x, Expr sign);
// c[0] + x c[1] + x^2 c[2] + ..., by Horner's rule with Fma.
Expr polynomial(Builder& b, Expr x, std::span<const double> coefficients);

}  // namespace tiffin::kernel::math
