// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms and what follows from them.
#include "compiler/kernel/math.h"

#include <limits>
#include <numbers>

#include "compiler/kernel/math_coefficients.h"
#include "compiler/kernel/math_kit.h"

namespace tiffin::kernel::math {

Expr Kit::infinity() const { return real(std::numeric_limits<double>::infinity()); }
Expr Kit::nan() const { return real(std::numeric_limits<double>::quiet_NaN()); }

Expr Kit::power_of_two(Expr n) const { return b.bit_cast(b.shl(b.add(n, integer(bias())), integer(mantissa_bits())), type.dtype); }

// Two factors, of which only the second can leave the normal numbers.
Expr Kit::scale(Expr p, Expr n) const {
  Expr half = b.let("n", b.shr(n, integer(1)));
  return b.mul(b.mul(p, power_of_two(half)), power_of_two(b.sub(n, half)));
}

Expr is_nan(Builder& b, Expr x) { return b.ne(x, x); }

Expr is_inf(Builder& b, Expr x) { return b.eq(b.abs(x), b.real(x->type, std::numeric_limits<double>::infinity())); }

Expr copy_sign(Builder& b, Expr x, Expr sign) {
  const Kit k(b, x);
  const int64_t mask = k.is_double ? INT64_MIN : int64_t{INT32_MIN};
  Expr bit = b.bit_and(b.bit_cast(sign, k.integer_dtype()), k.integer(mask));
  return b.bit_cast(b.bit_or(b.bit_cast(b.abs(x), k.integer_dtype()), bit), x->type.dtype);
}

Expr polynomial(Builder& b, Expr x, std::span<const double> coefficients) {
  Expr sum = b.real(x->type, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = b.fma(sum, x, b.real(x->type, coefficients[i]));
  return sum;
}

namespace {

// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody & Waite): the high part of ln 2 has so few bits that n times it is exact.
struct Reduced {
  Expr n = nullptr;  // an integer
  Expr r = nullptr;
};

Reduced reduce_by_ln2(const Kit& k, Expr x) {
  Builder& b = k.b;
  Expr n = k.let(b.round_even(b.mul(x, k.real(std::numbers::log2e))));
  const double high = k.pick(0x1.62e4p-1, 0x1.62e42feep-1), low = k.pick(0x1.7f7d1cf79abcap-20, 0x1.a39ef35793c76p-33);
  Expr r = b.fma(n, k.real(-low), b.fma(n, k.real(-high), x));
  return {k.let(k.to_integer(n)), k.let(r)};
}

// e^r - 1.
Expr expm1_reduced(const Kit& k, Expr r) {
  Expr q = polynomial(k.b, r, k.pick(kExp32, kExp64));
  return k.b.fma(k.b.mul(r, r), q, r);
}

// log(m) = f - (f^2 / 2 - s (f^2 / 2 + R(s^2))) with f = m - 1, s = f / (2 + f) (Tang 1990).
struct Split {
  Expr exponent = nullptr;  // floating
  Expr f = nullptr;
};

// x = 2^exponent (1 + f), 1 + f in [sqrt(1/2), sqrt(2)). Precondition on the lanes that count: x is positive and finite.
Split split_number(const Kit& k, Expr x) {
  Builder& b = k.b;
  const int denormal_shift = k.is_double ? 54 : 25;
  Expr is_denormal = b.let("is_denormal", b.lt(x, k.real(k.pick(0x1p-126, 0x1p-1022))));
  Expr normal = b.select(is_denormal, b.mul(x, k.real(k.is_double ? 0x1p54 : 0x1p25)), x);
  // Bits of sqrt(1/2), so that the exponent changes there.
  const int64_t root = k.is_double ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Expr bits = k.let(b.sub(b.bit_cast(normal, k.integer_dtype()), k.integer(root)));
  Expr exponent = b.shr(bits, k.integer(k.mantissa_bits()));
  exponent = b.sub(exponent, b.select(is_denormal, k.integer(denormal_shift), k.integer(0)));
  Expr mantissa = b.bit_and(bits, k.integer((int64_t{1} << k.mantissa_bits()) - 1));
  Expr m = b.bit_cast(b.add(mantissa, k.integer(root)), k.type.dtype);
  return {k.let(b.cast(exponent, k.type.dtype)), k.let(b.sub(m, k.real(1)))};
}

// R(z) = (log((1 + s) / (1 - s)) - 2 s) / s.
Expr log_rest(const Kit& k, Expr s) {
  Expr z = k.let(k.b.mul(s, s));
  return k.b.mul(z, polynomial(k.b, z, k.pick(kLog32, kLog64)));
}

Expr log_positive(const Kit& k, Expr x) {
  Builder& b = k.b;
  const Split split = split_number(k, x);
  Expr s = k.let(b.div(split.f, b.add(split.f, k.real(2))));
  Expr half_square = k.let(b.mul(k.real(0.5), b.mul(split.f, split.f)));
  Expr correction = b.mul(s, b.add(half_square, log_rest(k, s)));
  const double high = k.pick(0x1.62e4p-1, 0x1.62e42feep-1), low = k.pick(0x1.7f7d1cf79abcap-20, 0x1.a39ef35793c76p-33);
  Expr small = b.sub(half_square, b.fma(split.exponent, k.real(low), correction));
  return b.fma(split.exponent, k.real(high), b.sub(split.f, small));
}

}  // namespace

Expr exp(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr clamped = k.let(b.min(b.max(x, k.real(k.pick(-110, -760))), k.real(k.pick(95, 720))));
  const Reduced reduced = reduce_by_ln2(k, clamped);
  return k.let(k.scale(b.add(expm1_reduced(k, reduced.r), k.real(1)), reduced.n));
}

Expr expm1(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr clamped = k.let(b.min(b.max(x, k.real(k.pick(-30, -50))), k.real(k.pick(88.8, 709.9))));
  const Reduced reduced = reduce_by_ln2(k, clamped);
  // 2^n (e^r - 1) + (2^n - 1), halved so that 2^n can be one step beyond the largest power.
  Expr half_power = k.let(k.power_of_two(b.sub(reduced.n, k.integer(1))));
  Expr half = b.fma(half_power, expm1_reduced(k, reduced.r), b.sub(half_power, k.real(0.5)));
  return k.let(b.select(b.eq(x, k.real(0)), x, b.mul(half, k.real(2))));
}

Expr log(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr result = log_positive(k, x);
  result = b.select(b.eq(x, k.infinity()), x, result);
  result = b.select(b.eq(x, k.real(0)), b.neg(k.infinity()), result);
  // Negative numbers and NaN.
  return k.let(b.select(b.le(k.real(0), x), result, k.nan()));
}

Expr log1p(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr u = k.let(b.add(x, k.real(1)));
  // What the sum lost, as a correction of the logarithm's argument.
  Expr lost = b.sub(x, b.sub(u, k.real(1)));
  Expr result = b.add(log_positive(k, u), b.div(lost, u));
  result = b.select(b.bit_or(b.eq(x, k.infinity()), b.eq(x, k.real(0))), x, result);
  result = b.select(b.eq(x, k.real(-1)), b.neg(k.infinity()), result);
  return k.let(b.select(b.le(k.real(-1), x), result, k.nan()));
}

Expr sigmoid(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr decayed = exp(b, b.neg(b.abs(x)));
  Expr above = b.select(b.lt(x, k.real(0)), decayed, k.real(1));
  return k.let(b.div(above, b.add(decayed, k.real(1))));
}

Expr softplus(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  return k.let(b.add(b.max(x, k.real(0)), log1p(b, exp(b, b.neg(b.abs(x))))));
}

Expr tanh(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr twice = b.min(b.mul(b.abs(x), k.real(2)), k.real(k.pick(20, 44)));
  Expr t = expm1(b, twice);
  return k.let(copy_sign(b, b.div(t, b.add(t, k.real(2))), x));
}

// For |x| <= 1 an odd polynomial, beyond 1 - exp(-x^2) C(x), C(x) = exp(x^2) erfc(x) fitted in a variable that maps [1, 8] to a short interval.
Expr erf(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.min(b.abs(x), k.real(8)));
  Expr square = k.let(b.mul(magnitude, magnitude));
  Expr small = b.fma(magnitude, polynomial(b, square, k.pick(kErf32, kErf64)), magnitude);
  Expr t = k.let(b.div(b.sub(magnitude, k.real(2)), b.add(magnitude, k.real(2))));
  Expr rest = b.mul(exp(b, b.neg(square)), polynomial(b, t, k.pick(kErfc32, kErfc64)));
  return k.let(copy_sign(b, b.select(b.le(magnitude, k.real(1)), small, b.sub(k.real(1), rest)), x));
}

Expr sinh(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.abs(x));
  Expr t = expm1(b, magnitude);
  Expr moderate = b.mul(k.real(0.5), b.add(t, b.div(t, b.add(t, k.real(1)))));
  // e^x / 2 where e^x itself may overflow.
  Expr root = exp(b, b.mul(magnitude, k.real(0.5)));
  Expr large = b.mul(b.mul(k.real(0.5), root), root);
  return k.let(copy_sign(b, b.select(b.lt(magnitude, k.real(k.pick(40, 300))), moderate, large), x));
}

Expr cosh(Builder& b, Expr x) {
  const Kit k(b, x);
  Expr magnitude = k.let(b.abs(x));
  Expr e = exp(b, magnitude);
  Expr moderate = b.fma(k.real(0.5), e, b.div(k.real(0.5), e));
  Expr root = exp(b, b.mul(magnitude, k.real(0.5)));
  Expr large = b.mul(b.mul(k.real(0.5), root), root);
  return k.let(b.select(b.lt(magnitude, k.real(k.pick(40, 300))), moderate, large));
}

Expr asinh(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.abs(x));
  const double limit = k.pick(0x1p20, 0x1p40);
  Expr is_large = b.let("is_large", b.lt(k.real(limit), magnitude));
  Expr inner = k.let(b.min(magnitude, k.real(limit)));
  Expr square = k.let(b.mul(inner, inner));
  Expr moderate = b.add(inner, b.div(square, b.add(k.real(1), b.sqrt(b.add(square, k.real(1))))));
  Expr large = b.add(log(b, magnitude), k.real(std::numbers::ln2));
  Expr result = b.select(is_large, large, log1p(b, moderate));
  return k.let(copy_sign(b, b.select(is_nan(b, x), x, result), x));
}

Expr acosh(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  const double limit = k.pick(0x1p20, 0x1p40);
  Expr is_large = b.let("is_large", b.lt(k.real(limit), x));
  Expr t = k.let(b.sub(b.min(x, k.real(limit)), k.real(1)));
  Expr moderate = b.add(t, b.sqrt(b.fma(t, t, b.mul(t, k.real(2)))));
  Expr large = b.add(log(b, x), k.real(std::numbers::ln2));
  Expr result = b.select(is_large, large, log1p(b, moderate));
  return k.let(b.select(b.le(k.real(1), x), result, k.nan()));
}

Expr atanh(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.abs(x));
  Expr ratio = b.div(b.mul(magnitude, k.real(2)), b.sub(k.real(1), magnitude));
  return k.let(copy_sign(b, b.mul(log1p(b, ratio), k.real(0.5)), x));
}

}  // namespace tiffin::kernel::math
