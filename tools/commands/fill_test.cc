// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace tiffin::tools {
namespace {

HostTensor filled(const Fill& fill, DType dtype, int64_t count) {
  const int64_t shape[] = {count};
  HostTensor tensor = std::move(HostTensor::create(dtype, shape)).value();
  RandomStream stream{fill.seed};
  EXPECT_TRUE(fill_tensor(fill, stream, tensor).is_ok());
  return tensor;
}

std::vector<uint8_t> bytes_of(const HostTensor& tensor) { return {tensor.bytes(), tensor.bytes() + tensor.size_bytes()}; }

constexpr Fill kRandom{FillKind::Random, 1};
constexpr Fill kOnes{FillKind::Ones, 0};
constexpr Fill kZeros{FillKind::Zeros, 0};

// First outputs of the algorithm's own reference for seed 1234567.
TEST(Fill, StreamIsSplitMix64) {
  RandomStream stream{1234567};
  EXPECT_EQ(stream.next(), 6457827717110365317u);
  EXPECT_EQ(stream.next(), 3203168211198807973u);
  EXPECT_EQ(stream.next(), 9817491932198370423u);
}

TEST(Fill, FloatsAreStandardNormal) {
  const HostTensor tensor = filled(kRandom, DType::Float64, 100000);
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < tensor.num_elements(); ++i) {
    double value = 0;
    memcpy(&value, tensor.bytes() + i * sizeof value, sizeof value);
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
}

TEST(Fill, IntegersAndBoolsAreSmall) {
  for (const uint8_t byte : bytes_of(filled(kRandom, DType::Int8, 1000))) EXPECT_LT(byte, 10);
  for (const uint8_t byte : bytes_of(filled(kRandom, DType::Bool, 1000))) EXPECT_LT(byte, 2);
}

TEST(Fill, OnesHaveTheTypesOwnBits) {
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float16, 1)), (std::vector<uint8_t>{0x00, 0x3C}));
  EXPECT_EQ(bytes_of(filled(kOnes, DType::BFloat16, 1)), (std::vector<uint8_t>{0x80, 0x3F}));
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float32, 1)), (std::vector<uint8_t>{0, 0, 0x80, 0x3F}));
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float8E4M3FN, 1)), std::vector<uint8_t>{0x38});
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float8E4M3FNUZ, 1)), std::vector<uint8_t>{0x40});
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float8E5M2, 1)), std::vector<uint8_t>{0x3C});
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float8E8M0, 1)), std::vector<uint8_t>{127});
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Float4E2M1, 3)), (std::vector<uint8_t>{0x22, 0x02}));
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Int2, 5)), (std::vector<uint8_t>{0x55, 0x01}));
  EXPECT_EQ(bytes_of(filled(kOnes, DType::Int64, 1)), (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bytes_of(filled(kZeros, DType::Float32, 1)), std::vector<uint8_t>(4));
}

TEST(Fill, SameSeedSameBits) {
  EXPECT_EQ(bytes_of(filled(kRandom, DType::Float32, 33)), bytes_of(filled(kRandom, DType::Float32, 33)));
  EXPECT_NE(bytes_of(filled(kRandom, DType::Float32, 33)), bytes_of(filled({FillKind::Random, 2}, DType::Float32, 33)));
}

TEST(Fill, ReadsItsText) {
  EXPECT_EQ(parse_fill("random:18446744073709551615")->seed, UINT64_MAX);
  for (const char* text : {"", "Random:1", "random:", "random:1x", "random:-1", "random:18446744073709551616", "0"}) {
    EXPECT_FALSE(parse_fill(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace tiffin::tools
