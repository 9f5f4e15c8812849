// SPDX-License-Identifier: Apache-2.0
// Against libm, on numbers of all sizes.
#include "runtime/device/interpreter/lane_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tiffin::runtime {
namespace {

using Random = std::mt19937_64;
constexpr uint64_t kSeed = 7;

template <class T>
constexpr T kSpecial[] = {T(0.0),
                          T(-0.0),
                          T(1),
                          T(-1.5),
                          T(2.5),
                          std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::infinity(),
                          std::numeric_limits<T>::quiet_NaN(),
                          std::numeric_limits<T>::denorm_min(),
                          -std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::lowest(),
                          T(0.49999997),
                          T(8388609.0),
                          T(-4503599627370497.5)};

// Any bits, special values, and numbers near one another, of which sums cancel.
template <class T>
T any_number(Random& random) {
  const uint64_t choice = random();
  if (choice % 4 == 0) return kSpecial<T>[(choice >> 2) % std::size(kSpecial<T>)];
  if (choice % 4 == 1)
    return static_cast<T>(std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(choice >> 8 & 15) - 66));
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<uint32_t>(random()));
  else
    return std::bit_cast<double>(random());
}

template <class T>
void expect_same(T expected, T actual, const char* what, T a, T b, T c) {
  if (std::isnan(expected) && std::isnan(actual)) return;
  ASSERT_TRUE(expected == actual && std::signbit(expected) == std::signbit(actual))
      << what << "(" << a << ", " << b << ", " << c << "): " << actual << ", expected " << expected;
}

template <class T>
void check_all(int count) {
  Random random(kSeed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const T a = any_number<T>(random), b = any_number<T>(random);
    // Every other addend nearly cancels the product.
    const T c = i % 2 == 0 ? any_number<T>(random) : -std::nextafter(static_cast<T>(a * b), any_number<T>(random));
    expect_same(std::fma(a, b, c), fused_multiply_add(a, b, c), "fma", a, b, c);
    expect_same(static_cast<T>(std::fmod(a, b)), static_cast<T>(remainder_of(a, b)), "fmod", a, b, T(0));
    expect_same(std::floor(a), static_cast<T>(round_down(a)), "floor", a, T(0), T(0));
    expect_same(std::ceil(a), static_cast<T>(round_up(a)), "ceil", a, T(0), T(0));
    expect_same(std::trunc(a), static_cast<T>(round_to_zero(a)), "trunc", a, T(0), T(0));
    expect_same(std::nearbyint(a), static_cast<T>(round_to_even(a)), "nearbyint", a, T(0), T(0));
  }
}

TEST(LaneMath, IsThatOfLibmForFloat32) { check_all<float>(300'000); }
TEST(LaneMath, IsThatOfLibmForFloat64) { check_all<double>(300'000); }

}  // namespace
}  // namespace tiffin::runtime
