// SPDX-License-Identifier: Apache-2.0
// Elementary functions against long double, in units in the last place, over dense samples and special values.
#include "compiler/kernel/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/kernel/interpreter.h"
#include "compiler/kernel/verifier.h"

namespace tiffin::kernel {
namespace {

using Unary = Expr (*)(Builder&, Expr);
using Exact = long double (*)(long double);

constexpr int kLanes = 8;

// The function over `arguments`, padded to a multiple of the lanes, in vectors.
template <class T>
std::vector<T> apply(const std::function<Expr(Builder&, Expr, Expr)>& function, std::vector<T> x, std::vector<T> y) {
  const size_t count = x.size();
  x.resize((count + kLanes - 1) / kLanes * kLanes);
  y.resize(x.size());
  std::vector<T> result(x.size());
  const DType dtype = sizeof(T) == 4 ? DType::Float32 : DType::Float64;
  Kernel kernel("math");
  const int64_t size = static_cast<int64_t>(x.size());
  const Buffer* in = kernel.add_parameter("x", dtype, size, false);
  const Buffer* second = kernel.add_parameter("y", dtype, size, false);
  const Buffer* out = kernel.add_parameter("r", dtype, size, true);
  Builder b(kernel);
  b.for_loop("i", b.i64(0), b.i64(size), [&](Expr i) { b.store(out, i, function(b, b.load(in, i, kLanes), b.load(second, i, kLanes))); },
             {.step = kLanes});
  b.finish();
  const Status verified = verify(kernel);
  EXPECT_TRUE(verified.is_ok()) << verified.message();
  void* buffers[] = {x.data(), y.data(), result.data()};
  const Status ran = interpret(kernel, buffers, 0, 1);
  EXPECT_TRUE(ran.is_ok()) << ran.message();
  result.resize(count);
  return result;
}

template <class T>
double ulps(T actual, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : INFINITY;
  if (std::isnan(actual)) return INFINITY;
  if (actual == rounded) return std::signbit(actual) == std::signbit(rounded) ? 0 : INFINITY;
  if (std::isinf(actual) || std::isinf(rounded)) {
    const T largest = std::numeric_limits<T>::max();
    return std::abs(std::isinf(actual) ? rounded : actual) == largest ? 1 : INFINITY;
  }
  const T next = std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity());
  const long double unit = static_cast<long double>(next) - std::abs(static_cast<long double>(rounded));
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / unit);
}

template <class T>
std::vector<T> samples(double low, double high) {
  std::vector<T> x{0,
                   static_cast<T>(-0.0),
                   1,
                   -1,
                   std::numeric_limits<T>::infinity(),
                   -std::numeric_limits<T>::infinity(),
                   std::numeric_limits<T>::quiet_NaN(),
                   std::numeric_limits<T>::denorm_min(),
                   -std::numeric_limits<T>::denorm_min(),
                   std::numeric_limits<T>::min(),
                   std::numeric_limits<T>::max(),
                   std::numeric_limits<T>::lowest(),
                   static_cast<T>(1e-20),
                   static_cast<T>(0.5),
                   static_cast<T>(-0.5),
                   static_cast<T>(2),
                   static_cast<T>(1e10),
                   static_cast<T>(-1e22)};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> even(low, high), exponents(-40, 5);
  for (int i = 0; i < 4000; ++i) x.push_back(static_cast<T>(even(random)));
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<T>(std::exp2(exponents(random)) * (i % 2 == 0 ? 1 : -1)));
  return x;
}

template <class T>
void check(const char* name, Unary function, Exact exact, double low, double high, double bound) {
  const std::vector<T> x = samples<T>(low, high);
  const std::vector<T> y = apply<T>([&](Builder& b, Expr v, Expr) { return function(b, v); }, x, x);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], exact(x[i]));
    if (error <= worst) continue;
    worst = error;
    at = x[i];
  }
  EXPECT_LE(worst, bound) << name << (sizeof(T) == 4 ? "32" : "64") << " at " << at;
}

struct Row {
  const char* name;
  Unary function;
  Exact exact;
  double low, high, bound32, bound64;
};

long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double exact_softplus(long double x) { return std::max(x, 0.0L) + (std::isnan(x) ? x : std::log1p(std::exp(-std::abs(x)))); }

const Row kFunctions[] = {
    {"exp", math::exp, std::exp, -110, 95, 2, 2},
    {"expm1", math::expm1, std::expm1, -20, 90, 2, 3},
    {"log", math::log, std::log, 0, 1e4, 2, 2},
    {"log1p", math::log1p, std::log1p, -1, 100, 2, 3},
    {"sigmoid", math::sigmoid, exact_sigmoid, -90, 90, 3, 3},
    {"softplus", math::softplus, exact_softplus, -90, 90, 3, 3},
    {"tanh", math::tanh, std::tanh, -10, 10, 3, 3},
    {"erf", math::erf, std::erf, -5, 5, 2, 4},
    {"sin", math::sin, std::sin, -1e5, 1e5, 2, 2},
    {"cos", math::cos, std::cos, -1e5, 1e5, 2, 2},
    {"tan", math::tan, std::tan, -1e4, 1e4, 4, 4},
    {"asin", math::asin, std::asin, -1, 1, 3, 4},
    {"acos", math::acos, std::acos, -1, 1, 3, 4},
    {"atan", math::atan, std::atan, -100, 100, 3, 3},
    {"sinh", math::sinh, std::sinh, -89, 89, 4, 4},
    {"cosh", math::cosh, std::cosh, -89, 89, 4, 4},
    {"asinh", math::asinh, std::asinh, -1e4, 1e4, 4, 4},
    {"acosh", math::acosh, std::acosh, 1, 1e4, 4, 4},
    {"atanh", math::atanh, std::atanh, -1, 1, 4, 4},
};

TEST(Math, Float32StaysWithinItsBound) {
  for (const Row& row : kFunctions) check<float>(row.name, row.function, row.exact, row.low, row.high, row.bound32);
}

TEST(Math, Float64StaysWithinItsBound) {
  for (const Row& row : kFunctions) check<double>(row.name, row.function, row.exact, row.low, row.high, row.bound64);
}

template <class T>
void check_pairs(const std::function<Expr(Builder&, Expr, Expr)>& function, long double (*exact)(long double, long double), double bound,
                 double highest) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> special{0,
                               static_cast<T>(-0.0),
                               1,
                               -1,
                               2,
                               -2,
                               3,
                               -3,
                               static_cast<T>(0.5),
                               static_cast<T>(-0.5),
                               static_cast<T>(2.5),
                               infinity,
                               -infinity,
                               nan,
                               std::numeric_limits<T>::denorm_min(),
                               std::numeric_limits<T>::max(),
                               static_cast<T>(1e10)};
  std::vector<T> x, y;
  for (T a : special) {
    for (T c : special) {
      x.push_back(a);
      y.push_back(c);
    }
  }
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> bases(0, highest), powers(-20, 20);
  for (int i = 0; i < 2000; ++i) {
    x.push_back(static_cast<T>(bases(random)));
    y.push_back(static_cast<T>(powers(random)));
  }
  const std::vector<T> result = apply<T>(function, x, y);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(ulps(result[i], exact(x[i], y[i])), bound) << x[i] << ", " << y[i] << " gives " << result[i];
}

TEST(Math, PowHoldsItsBoundAndSpecialCases) {
  check_pairs<float>(math::pow, std::pow, 2, 10);
  check_pairs<double>(math::pow, std::pow, 4, 10);
}

TEST(Math, FmodIsExact) {
  check_pairs<float>(math::fmod, std::fmod, 0, 1e6);
  check_pairs<double>(math::fmod, std::fmod, 0, 1e6);
}

}  // namespace
}  // namespace tiffin::kernel
