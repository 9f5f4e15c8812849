// SPDX-License-Identifier: Apache-2.0
// The interpreter's own checks, and the lane operations at the values where languages and machines differ.
#include "compiler/kernel/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/kernel/scalar.h"

namespace tiffin::kernel {
namespace {

constexpr Type kIndex{DType::Int64, 1};
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

uint64_t f32(double value) { return float_bits(DType::Float32, value); }
uint64_t i32(int64_t value) { return integer_bits(DType::Int32, value); }

TEST(Scalar, integer_division_never_traps) {
  EXPECT_EQ(apply_binary(BinaryOp::Div, DType::Int32, i32(7), i32(0)), 0u);
  EXPECT_EQ(apply_binary(BinaryOp::Mod, DType::Int32, i32(7), i32(0)), 0u);
  EXPECT_EQ(apply_binary(BinaryOp::Div, DType::Int32, i32(INT32_MIN), i32(-1)), i32(INT32_MIN));
  EXPECT_EQ(apply_binary(BinaryOp::Mod, DType::Int32, i32(INT32_MIN), i32(-1)), 0u);
  EXPECT_EQ(apply_binary(BinaryOp::Div, DType::Int32, i32(-7), i32(2)), i32(-3));
}

TEST(Scalar, shifts_beyond_the_width) {
  EXPECT_EQ(apply_binary(BinaryOp::Shl, DType::Int32, i32(1), i32(32)), 0u);
  EXPECT_EQ(apply_binary(BinaryOp::Shr, DType::Int32, i32(-5), i32(99)), i32(-1));
  EXPECT_EQ(apply_binary(BinaryOp::Shr, DType::UInt8, 0x80, 8), 0u);
}

TEST(Scalar, min_and_max_keep_nan_and_order_zeros) {
  EXPECT_TRUE(is_nan(DType::Float32, apply_binary(BinaryOp::Max, DType::Float32, f32(kNaN), f32(1))));
  EXPECT_TRUE(is_nan(DType::Float32, apply_binary(BinaryOp::Min, DType::Float32, f32(1), f32(kNaN))));
  EXPECT_EQ(apply_binary(BinaryOp::Max, DType::Float32, f32(-0.0), f32(0.0)), f32(0.0));
  EXPECT_EQ(apply_binary(BinaryOp::Min, DType::Float32, f32(0.0), f32(-0.0)), f32(-0.0));
}

TEST(Scalar, casts_saturate) {
  EXPECT_EQ(apply_cast(DType::Float32, DType::Int8, f32(-1e9)), integer_bits(DType::Int8, -128));
  EXPECT_EQ(apply_cast(DType::Float32, DType::UInt8, f32(255.9)), 255u);
  EXPECT_EQ(apply_cast(DType::Float32, DType::Int32, f32(kNaN)), 0u);
  EXPECT_EQ(apply_cast(DType::Float64, DType::UInt64, float_bits(DType::Float64, kInfinity)), ~uint64_t{0});
  EXPECT_EQ(apply_cast(DType::Int32, DType::Int8, i32(300)), 44u);
  EXPECT_EQ(apply_cast(DType::Float32, DType::Bool, f32(kNaN)), 1u);
}

TEST(Scalar, narrow_floats_round_once_to_even) {
  EXPECT_EQ(float_bits(DType::Float16, 65519.99), 0x7BFFu);
  EXPECT_EQ(float_bits(DType::Float16, 65520), 0x7C00u);
  EXPECT_EQ(float_bits(DType::Float16, 0x1p-25), 0u);
  EXPECT_EQ(float_bits(DType::Float16, 0x1.8p-25), 1u);
  EXPECT_EQ(float_bits(DType::Float16, 1 + 0x1p-11 + 0x1p-40), 0x3C01u);  // rounding to float32 first would give 0x3C00
  EXPECT_EQ(float_bits(DType::BFloat16, 1 + 0x1p-8), 0x3F80u);
}

// Every float16 widens to the value that its fields say, and back.
TEST(Scalar, float16_there_and_back) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>((bits >> 10) & 31), fraction = static_cast<int>(bits & 1023);
    const double value = float_value(DType::Float16, bits);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(value, (bits & 0x8000u) != 0 ? -magnitude : magnitude);
    ASSERT_EQ(float_bits(DType::Float16, value), bits);
  }
}

TEST(Interpreter, names_an_access_outside_its_buffer) {
  Kernel k("outside");
  const Buffer* y = k.add_parameter("y", DType::Int64, 4, true);
  const Expr four = k.add(ExprNode{.kind = ExprKind::Const, .type = kIndex, .int_value = 4});
  k.body = {k.add(StmtNode{.kind = StmtKind::Store, .a = four, .b = four, .buffer = y})};
  int64_t memory[4] = {};
  void* const buffers[] = {memory};
  const Status status = interpret(k, buffers, 0, 1);
  ASSERT_EQ(status.code(), Code::Internal);
  EXPECT_NE(std::strstr(status.message(), "element 4 of buffer 'y', which has 4"), nullptr) << status.message();
}

}  // namespace
}  // namespace tiffin::kernel
