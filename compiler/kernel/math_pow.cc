// SPDX-License-Identifier: Apache-2.0
// Powers and floating remainders.
#include <cmath>
#include <numbers>

#include "compiler/kernel/math.h"
#include "compiler/kernel/math_coefficients.h"
#include "compiler/kernel/math_kit.h"

namespace tiffin::kernel::math {

namespace {

struct Pair {
  Expr high = nullptr, low = nullptr;
};

Pair two_sum(const Kit& k, Expr a, Expr c) {
  Builder& b = k.b;
  Expr sum = k.let(b.add(a, c));
  Expr part = k.let(b.sub(sum, a));
  return {sum, k.let(b.add(b.sub(a, b.sub(sum, part)), b.sub(c, part)))};
}

// high + low = a * c exactly: by FMA, or by halves of 26 bits where FMA is no single rounding (Dekker).
Pair two_product(const Kit& k, Expr a, Expr c) {
  Builder& b = k.b;
  Expr product = k.let(b.mul(a, c));
  if (b.kernel().has_fma) return {product, k.let(b.fma(a, c, b.neg(product)))};
  const auto upper = [&](Expr x) {
    return k.let(b.bit_cast(b.bit_and(b.bit_cast(x, DType::Int64), k.integer(~((int64_t{1} << 27) - 1))), DType::Float64));
  };
  Expr a_high = upper(a), c_high = upper(c);
  Expr a_low = k.let(b.sub(a, a_high)), c_low = k.let(b.sub(c, c_high));
  Expr error = b.sub(b.mul(a_high, c_high), product);
  error = b.add(b.add(error, b.mul(a_high, c_low)), b.mul(a_low, c_high));
  return {product, k.let(b.add(error, b.mul(a_low, c_low)))};
}

// The logarithm of a positive finite Float64 to about 65 bits: 2 s from a quotient with its remainder, the rest of the series plain.
Pair precise_log(const Kit& k, Expr x) {
  Builder& b = k.b;
  Expr is_denormal = b.let("is_denormal", b.lt(x, k.real(0x1p-1022)));
  Expr normal = b.select(is_denormal, b.mul(x, k.real(0x1p54)), x);
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  Expr bits = k.let(b.sub(b.bit_cast(normal, DType::Int64), k.integer(kRootHalf)));
  Expr exponent = b.sub(b.shr(bits, k.integer(52)), b.select(is_denormal, k.integer(54), k.integer(0)));
  Expr e = k.let(b.cast(exponent, DType::Float64));
  Expr m = b.bit_cast(b.add(b.bit_and(bits, k.integer((int64_t{1} << 52) - 1)), k.integer(kRootHalf)), DType::Float64);
  Expr f = k.let(b.sub(m, k.real(1)));
  const Pair divisor = two_sum(k, k.real(2), f);
  Expr s = k.let(b.div(f, divisor.high));
  const Pair product = two_product(k, s, divisor.high);
  Expr remainder = b.sub(b.sub(b.sub(f, product.high), product.low), b.mul(s, divisor.low));
  Expr s_low = k.let(b.div(remainder, divisor.high));
  Expr z = k.let(b.mul(s, s));
  Expr tail = b.mul(b.mul(s, z), polynomial(b, z, kLog64));
  // Multiples of the first 32 bits of ln 2 are exact.
  Expr power_low = b.mul(e, k.real(0x1.a39ef35793c76p-33));
  const Pair head = two_sum(k, k.let(b.mul(e, k.real(0x1.62e42feep-1))), k.let(b.mul(s, k.real(2))));
  Expr low = b.add(head.low, b.add(b.add(b.mul(s_low, k.real(2)), tail), power_low));
  return two_sum(k, head.high, k.let(low));
}

// |x|^y for finite x > 0 as Float64.
Expr positive_pow(const Kit& k, Expr x, Expr y) {
  Builder& b = k.b;
  const Pair logarithm = precise_log(k, x);
  const Pair product = two_product(k, y, logarithm.high);
  Expr high = k.let(b.max(b.min(product.high, k.real(2000)), k.real(-2000)));
  Expr low = k.let(b.fma(y, logarithm.low, product.low));
  // Beyond the exponents, and where an infinite y makes the errors NaN, only the high part counts.
  Expr is_plain = b.bit_and(b.eq(high, product.high), b.eq(low, low));
  low = k.let(b.select(is_plain, low, k.real(0)));
  const Pair argument = two_sum(k, high, low);
  Expr power = exp(b, argument.high);
  Expr is_infinite = b.eq(power, k.infinity());
  return k.let(b.select(is_infinite, power, b.fma(power, argument.low, power)));
}

}  // namespace

Expr pow(Builder& b, Expr base, Expr power) {
  const int lanes = std::max(base->type.lanes, power->type.lanes);
  const Kit outer(b, b.splat(base, lanes));
  Expr x = b.let("x", b.cast(b.splat(base, lanes), DType::Float64)), y = b.let("y", b.cast(b.splat(power, lanes), DType::Float64));
  const Kit k(b, x);
  Expr magnitude = k.let(b.abs(x));
  Expr is_ordinary = b.bit_and(b.lt(k.real(0), magnitude), b.lt(magnitude, k.infinity()));
  Expr result = positive_pow(k, k.let(b.select(is_ordinary, magnitude, k.real(1))), y);
  // 0 and infinity to the power y: 0 or infinity by the sign of y.
  Expr y_is_positive = b.let("is_positive", b.lt(k.real(0), y));
  Expr is_zero = b.eq(magnitude, k.real(0)), is_infinite = b.eq(magnitude, k.infinity());
  result = b.select(is_zero, b.select(y_is_positive, k.real(0), k.infinity()), result);
  result = b.select(is_infinite, b.select(y_is_positive, k.infinity(), k.real(0)), result);
  result = k.let(b.select(b.eq(magnitude, k.real(1)), k.real(1), result));
  // The sign: odd powers keep that of x, fractions of negative numbers are NaN.
  Expr half = k.let(b.mul(y, k.real(0.5)));
  Expr is_whole = b.eq(b.trunc(y), y), is_odd = b.bit_and(is_whole, b.ne(b.trunc(half), half));
  Expr negative = b.let("is_negative", b.lt(b.bit_cast(x, DType::Int64), k.integer(0)));
  result = k.let(b.select(b.bit_and(negative, is_odd), b.neg(result), result));
  Expr below_zero = b.bit_and(b.lt(x, k.real(0)), b.bit_and(b.ne(x, b.neg(k.infinity())), b.logical_not(is_whole)));
  result = b.select(below_zero, k.nan(), result);
  result = b.select(b.bit_or(is_nan(b, x), is_nan(b, y)), k.nan(), result);
  Expr is_one = b.bit_or(b.eq(x, k.real(1)), b.eq(y, k.real(0)));
  return outer.let(b.cast(k.let(b.select(is_one, k.real(1), result)), outer.type.dtype));
}

// Long division of the mantissas as integers, one bit at a time: exact, with as many steps as the exponents differ.
Expr fmod(Builder& b, Expr dividend, Expr divisor) {
  const int lanes = std::max(dividend->type.lanes, divisor->type.lanes);
  const Kit k(b, b.splat(dividend, lanes));
  Expr x = k.let(b.splat(dividend, lanes)), y = k.let(b.splat(divisor, lanes));
  const int bits = k.mantissa_bits();
  const int64_t mask = (int64_t{1} << bits) - 1;
  struct Parts {
    Expr mantissa, exponent;  // value = mantissa * 2^(exponent - bias - bits)
  };
  const auto parts_of = [&](Expr value) {
    Expr raw = k.let(b.bit_cast(b.abs(value), k.integer_dtype()));
    Expr field = k.let(b.shr(raw, k.integer(bits)));
    Expr is_denormal = b.eq(field, k.integer(0));
    Expr mantissa = b.bit_or(b.bit_and(raw, k.integer(mask)), b.select(is_denormal, k.integer(0), k.integer(mask + 1)));
    return Parts{k.let(mantissa), k.let(b.max(field, k.integer(1)))};
  };
  const Parts a = parts_of(x), c = parts_of(y);
  Expr steps = k.let(b.sub(a.exponent, c.exponent));
  Expr rest = b.add_register("rest", b.select(b.le(k.integer(0), steps), b.mod(a.mantissa, c.mantissa), a.mantissa));
  Expr most = b.let("most", b.cast(b.reduce_max(steps), DType::Int64));
  b.for_loop("bit", b.i64(0), b.max(most, b.i64(0)), [&](Expr i) {
    Expr doubled = k.let(b.shl(rest, k.integer(1)));
    Expr reduced = b.select(b.le(c.mantissa, doubled), b.sub(doubled, c.mantissa), doubled);
    b.set(rest, b.select(b.lt(b.cast(i, k.integer_dtype()), steps), reduced, rest));
  });
  Expr value = b.cast(k.let(rest), k.type.dtype);
  Expr exponent = b.sub(c.exponent, k.integer(k.bias() + bits));
  Expr is_less = b.let("is_less", b.lt(b.abs(x), b.abs(y)));
  Expr result = b.select(is_less, b.abs(x), k.scale(value, k.let(exponent)));
  result = copy_sign(b, k.let(result), x);
  Expr is_invalid = b.bit_or(b.bit_or(is_inf(b, x), b.eq(y, k.real(0))), b.bit_or(is_nan(b, x), is_nan(b, y)));
  return k.let(b.select(is_invalid, k.nan(), result));
}

}  // namespace tiffin::kernel::math
