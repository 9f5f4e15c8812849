// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/interpreter/lane_math.h"

#include <bit>
#include <cstdint>

namespace tiffin::runtime {
namespace {

__extension__ typedef unsigned __int128 uint128;

// A finite number that is not zero: magnitude * 2^exponent.
struct Parts {
  uint64_t magnitude;
  int exponent;
  bool is_negative;
};

Parts parts_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const int field = static_cast<int>(bits >> 52 & 0x7FF);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075, bits >> 63 != 0};
}

// 2^exponent for -1074 <= exponent <= 1023.
double power_of_two(int exponent) {
  if (exponent >= -1022) return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  return std::bit_cast<double>(uint64_t{1} << (exponent + 1074));
}

bool is_finite(double x) { return __builtin_fabs(x) < __builtin_inf(); }

// Shifts right; the last bit remembers whether anything was lost.
uint128 shift_sticky(uint128 value, int by) {
  if (by >= 128) return value != 0 ? 1 : 0;
  const uint128 shifted = value >> by;
  return (shifted << by) != value ? shifted | 1 : shifted;
}

// magnitude * 2^exponent, rounded once to nearest even; its last bit may be sticky, if at least 120 bits stand above it.
double round_parts(uint128 magnitude, int exponent, bool is_negative) {
  const auto high = static_cast<uint64_t>(magnitude >> 64);
  const int top = high != 0 ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(static_cast<uint64_t>(magnitude));
  int drop = top - 52;
  if (exponent + drop < -1074) drop = -1074 - exponent;
  uint64_t whole = 0;
  if (drop <= 0) {
    whole = static_cast<uint64_t>(magnitude) << -drop;
  } else if (drop <= 127) {
    whole = static_cast<uint64_t>(magnitude >> drop);
    const uint128 rest = magnitude - (static_cast<uint128>(whole) << drop), half = uint128{1} << (drop - 1);
    if (rest > half || (rest == half && (whole & 1) != 0)) ++whole;
  }
  const int scale = exponent + drop;
  const double rounded = scale > 971 ? __builtin_inf() : static_cast<double>(whole) * power_of_two(scale);
  return is_negative ? -rounded : rounded;
}

}  // namespace

double round_to_even(double x) {
  constexpr double kWhole = 0x1p52;  // every value from here on is whole
  const double magnitude = __builtin_fabs(x);
  if (!(magnitude < kWhole)) return x;
  return __builtin_copysign((magnitude + kWhole) - kWhole, x);
}

double round_down(double x) {
  const double nearest = round_to_even(x);
  return __builtin_copysign(nearest > x ? nearest - 1 : nearest, x);
}

double round_up(double x) {
  const double nearest = round_to_even(x);
  return __builtin_copysign(nearest < x ? nearest + 1 : nearest, x);
}

double round_to_zero(double x) { return x < 0 ? round_up(x) : round_down(x); }

double remainder_of(double a, double b) {
  const double size = __builtin_fabs(a), modulus = __builtin_fabs(b);
  if (!is_finite(a) || !(modulus > 0)) return __builtin_nan("");
  if (size < modulus) return a;
  const Parts x = parts_of(size), m = parts_of(modulus);
  // Long division, 11 bits at a time: what is left has at most 53 bits.
  uint64_t rest = x.magnitude % m.magnitude;
  for (int left = x.exponent - m.exponent; left > 0 && rest != 0;) {
    const int step = left < 11 ? left : 11;
    rest = (rest << step) % m.magnitude;
    left -= step;
  }
  return __builtin_copysign(static_cast<double>(rest) * power_of_two(m.exponent), a);
}

// The product is exact in float64; the sum is rounded to odd there, so that rounding it once more does no harm (S. Boldo, G. Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"). The error of the sum is D. Knuth's.
float fused_multiply_add(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, addend = c, sum = product + addend;
  if (!is_finite(sum)) return static_cast<float>(sum);
  const double part = sum - product, lost = (product - (sum - part)) + (addend - part);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (lost != 0 && (bits & 1) == 0) bits = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

// In integers: the product has 106 bits, and 126 hold it and the addend beside each other.
double fused_multiply_add(double a, double b, double c) {
  if (!is_finite(a) || !is_finite(b) || a == 0 || b == 0) return a * b + c;
  if (!is_finite(c)) return c;
  const Parts x = parts_of(a), y = parts_of(b);
  const bool is_negative = x.is_negative != y.is_negative;
  uint128 product = static_cast<uint128>(x.magnitude) * y.magnitude;
  int exponent = x.exponent + y.exponent;
  if (c == 0) return round_parts(product, exponent, is_negative);
  const Parts z = parts_of(c);
  // Both are normalised to 126 bits, so that aligning loses bits of the smaller one only, and none when they are near.
  const auto normalise = [](uint128& value, int& scale) {
    const auto high = static_cast<uint64_t>(value >> 64);
    const int zeros = high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll(static_cast<uint64_t>(value));
    value <<= zeros - 2;
    scale -= zeros - 2;
  };
  uint128 addend = z.magnitude;
  int addend_exponent = z.exponent;
  normalise(product, exponent);
  normalise(addend, addend_exponent);
  const int distance = exponent - addend_exponent;
  if (distance >= 0) {
    addend = shift_sticky(addend, distance);
  } else {
    product = shift_sticky(product, -distance);
    exponent = addend_exponent;
  }
  if (is_negative == z.is_negative) return round_parts(product + addend, exponent, is_negative);
  if (product == addend) return 0;
  if (product > addend) return round_parts(product - addend, exponent, is_negative);
  return round_parts(addend - product, exponent, z.is_negative);
}

}  // namespace tiffin::runtime
