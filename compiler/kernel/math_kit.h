// SPDX-License-Identifier: Apache-2.0
// What the elementary functions of math*.cc are written with: constants of the argument's type, powers of two by bits, coefficients by width.
#pragma once

#include <span>

#include "compiler/kernel/math.h"

namespace tiffin::kernel::math {

class Kit {
 public:
  Kit(Builder& builder, Expr x) : b(builder), type(x->type), is_double(x->type.dtype == DType::Float64) {}

  Builder& b;
  const Type type;
  const bool is_double;

  int mantissa_bits() const { return is_double ? 52 : 23; }
  int bias() const { return is_double ? 1023 : 127; }
  DType integer_dtype() const { return is_double ? DType::Int64 : DType::Int32; }
  Type integer_type() const { return {integer_dtype(), type.lanes}; }

  Expr real(double value) const { return b.real(type, value); }
  Expr integer(int64_t value) const { return b.integer(integer_type(), value); }
  Expr infinity() const;
  Expr nan() const;
  Expr let(Expr value) const { return b.let("t", value); }
  double pick(double single, double wide) const { return is_double ? wide : single; }
  std::span<const double> pick(std::span<const double> single, std::span<const double> wide) const { return is_double ? wide : single; }

  Expr magnitude(Expr x) const { return b.abs(x); }
  // 2^n of integers with -bias < n <= bias.
  Expr power_of_two(Expr n) const;
  // p * 2^n, rounded once, for n beyond the exponents as well.
  Expr scale(Expr p, Expr n) const;
  // The floating argument, which is a whole number, as an integer.
  Expr to_integer(Expr whole) const { return b.cast(whole, integer_dtype()); }
};

}  // namespace tiffin::kernel::math
