// SPDX-License-Identifier: Apache-2.0
// Sine, cosine, tangent and their inverses.
#include <cmath>
#include <numbers>

#include "compiler/kernel/math.h"
#include "compiler/kernel/math_coefficients.h"
#include "compiler/kernel/math_kit.h"

namespace tiffin::kernel::math {

namespace {

// x = n pi / 2 + high + low with |high| <= pi / 4; `quadrant` is n modulo 4 as an integer of `high`'s width.
struct Angle {
  Expr quadrant = nullptr;
  Expr high = nullptr, low = nullptr;
};

struct Sum {
  Expr high = nullptr, low = nullptr;
};

// high + low = a + b exactly (Knuth).
Sum two_sum(const Kit& k, Expr a, Expr c) {
  Builder& b = k.b;
  Expr sum = k.let(b.add(a, c));
  Expr part = k.let(b.sub(sum, a));
  return {sum, k.let(b.add(b.sub(a, b.sub(sum, part)), b.sub(c, part)))};
}

// |x| < 2^20: pi / 2 in parts of 33 bits, whose products with n are exact (Cody & Waite).
Angle reduce_small(const Kit& k, Expr x) {
  Builder& b = k.b;
  Expr n = k.let(b.round_even(b.mul(x, k.real(2 / std::numbers::pi))));
  Expr first = b.sub(x, b.mul(n, k.real(0x1.921fb544p+0)));
  const Sum second = two_sum(k, k.let(first), k.let(b.neg(b.mul(n, k.real(0x1.0b4611a6p-34)))));
  const Sum third = two_sum(k, second.high, k.let(b.neg(b.mul(n, k.real(0x1.3198a2ep-69)))));
  Expr low = b.add(b.add(second.low, third.low), b.mul(n, k.real(-0x1.b839a252049c1p-104)));
  return {b.let("quadrant", b.cast(n, DType::Int64)), third.high, k.let(low)};
}

// Any finite x: x * 2 / pi modulo 4 from products of x's halves with 24 bits of 2 / pi each, which are exact, and whose whole turns are dropped at
// once (after Payne & Hanek). Exact sums come first, so that what cancels has no rounding errors yet.
Angle reduce_large(const Kit& k, Expr x, int chunks) {
  Builder& b = k.b;
  constexpr int64_t kLowBits = (int64_t{1} << 27) - 1;
  Expr upper = k.let(b.bit_cast(b.bit_and(b.bit_cast(x, DType::Int64), k.integer(~kLowBits)), DType::Float64));
  // Scaled so that neither the last bits of 2 / pi nor the products underflow.
  const Expr halves[] = {k.let(b.mul(upper, k.real(0x1p-256))), k.let(b.mul(b.sub(x, upper), k.real(0x1p-256)))};
  Expr quarters = k.real(0);  // whole quadrants so far
  Sum sum{k.real(0), k.real(0)};
  for (int i = 0; i < chunks; ++i) {
    // A quarter of the bits' value, so that whole numbers are whole turns.
    const double bits = std::ldexp(static_cast<double>(kTwoOverPi[i]), 256 - 24 * (i + 1) - 2);
    for (Expr half : halves) {
      Expr product = k.let(b.mul(half, k.real(bits)));
      Expr part = k.let(b.mul(b.sub(product, b.round_even(product)), k.real(4)));
      const Sum next = two_sum(k, sum.high, part);
      Expr whole = k.let(b.round_even(next.high));
      quarters = k.let(b.add(quarters, whole));
      const Sum rest = two_sum(k, k.let(b.sub(next.high, whole)), k.let(b.add(sum.low, next.low)));
      sum = rest;
    }
  }
  // The fraction of a quadrant times pi / 2, the leading product with its rounding error.
  Expr coarse = k.let(b.bit_cast(b.bit_and(b.bit_cast(sum.high, DType::Int64), k.integer(~kLowBits)), DType::Float64));
  Expr fine = k.let(b.add(b.sub(sum.high, coarse), sum.low));
  Expr leading = k.let(b.mul(coarse, k.real(0x1.921fb5p+0)));
  Expr rest = b.add(b.mul(coarse, k.real(0x1.110b4611a6263p-26)), b.mul(fine, k.real(std::numbers::pi / 2)));
  const Sum angle = two_sum(k, leading, k.let(rest));
  return {b.let("quadrant", b.cast(quarters, DType::Int64)), angle.high, angle.low};
}

// Reduction of a Float64 argument; with lanes the slow way is taken when any lane needs it.
Angle reduce(Builder& b, Expr x, int chunks) {
  const Kit k(b, x);
  Expr magnitude = k.let(b.abs(x));
  Expr is_large = b.let("is_large", b.bit_and(b.le(k.real(0x1p20), magnitude), b.ne(magnitude, k.infinity())));
  // NaN and infinity end as NaN either way.
  const Angle small = reduce_small(k, x);
  const auto plain = [&] { return Builder::Values{small.quadrant, small.high, small.low}; };
  const auto careful = [&] {
    const Angle large = reduce_large(k, k.let(b.select(is_large, x, k.real(0))), chunks);
    return Builder::Values{b.select(is_large, large.quadrant, small.quadrant), b.select(is_large, large.high, small.high),
                           b.select(is_large, large.low, small.low)};
  };
  const Builder::Values chosen = b.choose_all(b.any(is_large), careful, plain);
  return {chosen[0], chosen[1], chosen[2]};
}

struct SineCosine {
  Expr quadrant = nullptr;                // integers of the argument's width
  Expr sine = nullptr, cosine = nullptr;  // of the reduced angle
};

// Float32 arguments are reduced in Float64, to which 10 chunks of 2 / pi suffice, then rounded: the rest is a polynomial of their own width.
SineCosine sine_cosine(Builder& b, Expr x) {
  const Kit k(b, x);
  const Angle angle = reduce(b, k.let(b.cast(x, DType::Float64)), k.is_double ? 49 : 10);
  Expr r = k.let(b.cast(k.is_double ? angle.high : b.add(angle.high, angle.low), k.type.dtype));
  Expr low = k.is_double ? angle.low : k.real(0);
  Expr z = k.let(b.mul(r, r));
  Expr odd = b.mul(b.mul(r, z), polynomial(b, z, k.pick(kSin32, kSin64)));
  Expr even = b.mul(b.mul(z, z), polynomial(b, z, k.pick(kCos32, kCos64)));
  Expr half = k.let(b.mul(z, k.real(0.5)));
  Expr whole = k.let(b.sub(k.real(1), half));
  SineCosine result;
  result.quadrant = b.let("quadrant", b.cast(angle.quadrant, k.integer_dtype()));
  // sin(r + low) = sin r + low cos r; 1 - z / 2 with its rounding error.
  if (k.is_double) odd = b.fma(low, whole, odd);
  Expr lost = b.sub(b.sub(k.real(1), whole), half);
  if (k.is_double) lost = b.sub(lost, b.mul(r, low));
  result.sine = k.let(b.add(r, odd));
  result.cosine = k.let(b.add(whole, b.add(lost, even)));
  return result;
}

Expr has_bit(const Kit& k, Expr integer, int64_t bit) { return k.b.ne(k.b.bit_and(integer, k.integer(bit)), k.integer(0)); }

// asin(x) for |x| <= 1/2, as x + the rest.
Expr asin_rest(const Kit& k, Expr x, Expr square) { return k.b.mul(k.b.mul(x, square), polynomial(k.b, square, k.pick(kAsin32, kAsin64))); }

// What asin and acos share: asin(argument) = argument + rest. Up to 1/2 the argument is `small_argument` (x or |x|); beyond it is
// sqrt((1 - |x|) / 2), from which asin(|x|) = pi / 2 - 2 asin(argument).
struct ArcSine {
  Expr is_small = nullptr;
  Expr argument = nullptr, rest = nullptr;
  double half_pi = 0, half_pi_low = 0;  // their sum is pi / 2 with twice the digits
};

ArcSine reduced_arc_sine(const Kit& k, Expr magnitude, Expr small_argument) {
  Builder& b = k.b;
  ArcSine result;
  result.is_small = b.let("is_small", b.le(magnitude, k.real(0.5)));
  Expr below = b.mul(magnitude, magnitude), beyond = b.mul(b.sub(k.real(1), magnitude), k.real(0.5));
  Expr square = k.let(b.select(result.is_small, below, beyond));
  result.argument = k.let(b.select(result.is_small, small_argument, b.sqrt(square)));
  result.rest = k.let(asin_rest(k, result.argument, square));
  result.half_pi = k.pick(0x1.921fb6p+0, 0x1.921fb54442d18p+0);
  result.half_pi_low = k.pick(-0x1.777a5cp-25, 0x1.1a62633145c07p-54);
  return result;
}

}  // namespace

Expr sin(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  const SineCosine parts = sine_cosine(b, x);
  Expr value = k.let(b.select(has_bit(k, parts.quadrant, 1), parts.cosine, parts.sine));
  value = b.select(has_bit(k, parts.quadrant, 2), b.neg(value), value);
  // -0 stays.
  return k.let(b.select(b.eq(x, k.real(0)), x, value));
}

Expr cos(Builder& b, Expr x) {
  const Kit k(b, x);
  const SineCosine parts = sine_cosine(b, k.let(x));
  Expr value = k.let(b.select(has_bit(k, parts.quadrant, 1), parts.sine, parts.cosine));
  Expr is_negative = has_bit(k, b.add(parts.quadrant, k.integer(1)), 2);
  return k.let(b.select(is_negative, b.neg(value), value));
}

Expr tan(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  const SineCosine parts = sine_cosine(b, x);
  Expr is_odd = b.let("is_odd", has_bit(k, parts.quadrant, 1));
  Expr above = b.select(is_odd, b.neg(parts.cosine), parts.sine), below = b.select(is_odd, parts.sine, parts.cosine);
  return k.let(b.select(b.eq(x, k.real(0)), x, b.div(above, below)));
}

Expr asin(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.abs(x));
  const ArcSine arc = reduced_arc_sine(k, magnitude, magnitude);
  Expr small = b.add(arc.argument, arc.rest);
  Expr large = b.sub(k.real(arc.half_pi), b.sub(b.mul(k.real(2), b.add(arc.argument, arc.rest)), k.real(arc.half_pi_low)));
  return k.let(copy_sign(b, k.let(b.select(arc.is_small, small, large)), x));
}

Expr acos(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  const ArcSine arc = reduced_arc_sine(k, k.let(b.abs(x)), x);
  Expr small = b.sub(k.real(arc.half_pi), b.sub(arc.argument, b.sub(k.real(arc.half_pi_low), arc.rest)));
  Expr twice = k.let(b.mul(k.real(2), b.add(arc.argument, arc.rest)));
  Expr negative = b.sub(k.real(2 * arc.half_pi), b.sub(twice, k.real(2 * arc.half_pi_low)));
  return k.let(b.select(arc.is_small, small, b.select(b.lt(x, k.real(0)), negative, twice)));
}

// Around 1 and beyond from atan(x) = pi / 4 + atan((x - 1) / (x + 1)) = pi / 2 - atan(1 / x).
Expr atan(Builder& b, Expr x) {
  const Kit k(b, x);
  x = k.let(x);
  Expr magnitude = k.let(b.abs(x));
  Expr is_small = b.let("is_small", b.le(magnitude, k.real(std::numbers::sqrt2 - 1)));
  Expr is_large = b.let("is_large", b.lt(k.real(std::numbers::sqrt2 + 1), magnitude));
  Expr above = b.select(is_large, k.real(-1), b.sub(magnitude, k.real(1)));
  Expr below = b.select(is_large, magnitude, b.add(magnitude, k.real(1)));
  Expr t = k.let(b.select(is_small, magnitude, b.div(above, below)));
  const double half_pi = k.pick(0x1.921fb6p+0, 0x1.921fb54442d18p+0), half_pi_low = k.pick(-0x1.777a5cp-25, 0x1.1a62633145c07p-54);
  const auto by_case = [&](double value) { return b.select(is_small, k.real(0), b.select(is_large, k.real(value), k.real(value / 2))); };
  Expr z = k.let(b.mul(t, t));
  Expr rest = b.fma(b.mul(t, z), polynomial(b, z, k.pick(kAtan32, kAtan64)), by_case(half_pi_low));
  return k.let(copy_sign(b, b.add(by_case(half_pi), b.add(t, rest)), x));
}

}  // namespace tiffin::kernel::math
