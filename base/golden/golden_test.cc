// SPDX-License-Identifier: Apache-2.0
// The section's checks against every truncation and many alterations; comparing within tolerances; sketches.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/golden/compare.h"
#include "base/golden/element.h"
#include "base/golden/section.h"

namespace tiffin::golden {
namespace {

template <class T>
void append(std::vector<uint64_t>& words, const T& object) {
  static_assert(sizeof(T) % 8 == 0);
  const size_t at = words.size();
  words.resize(at + sizeof(T) / 8);
  memcpy(words.data() + at, &object, sizeof(T));
}

constexpr uint32_t kFloat = TIFFIN_DTYPE_FLOAT32;

// Two cases of one input and one output of three floats, with two sketches for variant 1.
std::vector<uint64_t> sample_section() {
  std::vector<uint64_t> words;
  append(words, tiffin_golden_header{0, 2, 1, 1, 1, 0, 0});
  for (int i = 0; i < 2; ++i) append(words, tiffin_golden_tensor{kFloat, 0, 12});
  for (int i = 0; i < 2; ++i) append(words, tiffin_golden_tolerance{4, 1e-6, 1e-7});
  append(words, tiffin_golden_variant{1, 2});
  for (uint32_t i = 0; i < 4; ++i) append(words, tiffin_golden_sketch{i % 2, 0, kFloat, 0, 3, 0, 6, 14, 1e-6, 1e-7, {1, 2, 3}});
  for (uint64_t i = 0; i < 8; ++i) words.push_back(i);
  const uint64_t length = words.size() * 8;
  memcpy(reinterpret_cast<uint8_t*>(words.data()) + offsetof(tiffin_golden_header, total_length), &length, sizeof(length));
  return words;
}

std::span<const uint8_t> bytes_of(const std::vector<uint64_t>& words) { return {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}; }

// Touches everything that a reader would.
void walk(const Section& section) {
  uint64_t sum = 0;
  for (uint32_t number = 0; number < section.header().case_count; ++number) {
    for (size_t i = 0; i < section.tensors().size(); ++i) {
      for (const uint8_t byte : section.elements(number, i)) sum += byte;
    }
    for (uint32_t i = 0; i < section.header().output_count; ++i) sum += section.tolerance(number, i).ulp > 1;
    for (const tiffin_golden_variant& row : section.variants()) {
      for (const tiffin_golden_sketch& sketch : section.sketches(row.variant, number)) sum += sketch.elements;
    }
  }
  EXPECT_GE(sum + 1, 0u);
}

TEST(GoldenSection, ReadsItsParts) {
  const std::vector<uint64_t> words = sample_section();
  const auto section = Section::read(bytes_of(words));
  ASSERT_TRUE(section.has_value()) << section.error().message();
  EXPECT_EQ(section->elements(1, 1)[0], 6);
  EXPECT_EQ(section->sketches(1, 1).size(), 2u);
  EXPECT_TRUE(section->sketches(0, 0).empty());
  EXPECT_EQ(Section::case_count_of(bytes_of(words)), 2u);
  walk(*section);
}

TEST(GoldenSection, RefusesEveryTruncationAndSurplus) {
  std::vector<uint64_t> words = sample_section();
  for (size_t length = 0; length < bytes_of(words).size(); ++length) {
    const auto section = Section::read(bytes_of(words).first(length));
    ASSERT_FALSE(section.has_value()) << length;
    EXPECT_EQ(section.error().code(), Code::NotAnArtifact);
  }
  words.push_back(0);
  EXPECT_FALSE(Section::read(bytes_of(words)).has_value());
}

TEST(GoldenSection, EveryBitFlipIsReadSafely) {
  std::vector<uint64_t> words = sample_section();
  for (size_t bit = 0; bit < words.size() * 64; ++bit) {
    words[bit / 64] ^= uint64_t{1} << bit % 64;
    const auto section = Section::read(bytes_of(words));
    if (section.has_value()) walk(*section);
    words[bit / 64] ^= uint64_t{1} << bit % 64;
  }
}

TEST(GoldenSection, RandomWordsAreReadSafely) {
  std::mt19937_64 random(7);
  const uint64_t special[] = {0, 1, 7, 8, 255, UINT32_MAX, UINT64_MAX, uint64_t{1} << 32, uint64_t{1} << 63};
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint64_t> words = sample_section();
    for (uint64_t count = random() % 4 + 1; count > 0; --count) words[random() % 30] = special[random() % std::size(special)];
    const auto section = Section::read(bytes_of(words));
    if (section.has_value()) walk(*section);
  }
}

template <class T>
std::span<const uint8_t> raw(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

Difference compare_floats(float expected, float actual, tiffin_golden_tolerance tolerance) {
  return compare(DType::Float32, raw(std::vector<float>{expected}), raw(std::vector<float>{actual}), tolerance);
}

TEST(GoldenCompare, AnyOfTheThreeToleranceTermsAccepts) {
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_TRUE(compare_floats(1, next, {1, 0, 0}).is_accepted);
  EXPECT_EQ(compare_floats(1, next, {1, 0, 0}).worst_ulp, 1);
  EXPECT_FALSE(compare_floats(1, next, {0, 0, 0}).is_accepted);
  EXPECT_TRUE(compare_floats(100, 101, {0, 0.01, 0}).is_accepted);
  EXPECT_FALSE(compare_floats(100, 102, {0, 0.01, 0}).is_accepted);
  EXPECT_TRUE(compare_floats(0, 1e-9F, {0, 0, 1e-8}).is_accepted);
  EXPECT_FALSE(compare_floats(0, 1e-7F, {0, 0, 1e-8}).is_accepted);
  EXPECT_TRUE(compare_floats(0.0F, -0.0F, {0, 0, 0}).is_accepted);
}

TEST(GoldenCompare, NotFiniteElementsAreTheSameOrDepart) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const tiffin_golden_tolerance loose{1e9, 1e9, 1e30};
  EXPECT_TRUE(compare_floats(kInfinity, kInfinity, loose).is_accepted);
  EXPECT_TRUE(compare_floats(kNan, -kNan, loose).is_accepted);
  EXPECT_FALSE(compare_floats(kInfinity, -kInfinity, loose).is_accepted);
  EXPECT_FALSE(compare_floats(1, kNan, loose).is_accepted);
  EXPECT_FALSE(compare_floats(kNan, 1, loose).is_accepted);
  EXPECT_TRUE(std::isinf(compare_floats(kNan, 1, loose).worst_ulp));
}

TEST(GoldenCompare, IntegersBeyondADoubleAreTold) {
  const std::vector<int64_t> a = {INT64_MAX}, b = {INT64_MAX - 1};
  const Difference difference = compare(DType::Int64, raw(a), raw(b), {0, 0, 0});
  EXPECT_FALSE(difference.is_accepted);
  EXPECT_EQ(difference.worst_ulp, 1);
}

TEST(GoldenCompare, UnitsOfTheLastPlace) {
  EXPECT_EQ(ulp_at(DType::Float32, 1), 0x1p-23);
  EXPECT_EQ(ulp_at(DType::Float32, 0), 0x1p-149);
  EXPECT_EQ(ulp_at(DType::Float64, 0), 0x1p-1074);
  EXPECT_EQ(ulp_at(DType::Float64, 2), 0x1p-51);
  EXPECT_EQ(ulp_at(DType::Float16, 1), 0x1p-10);
  EXPECT_EQ(ulp_at(DType::BFloat16, 1), 0x1p-7);
  EXPECT_EQ(ulp_at(DType::Int8, 100), 1);
}

TEST(GoldenSketch, DepartsByEachOfItsParts) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  tiffin_golden_sketch recorded{}, actual{};
  take_sketch(DType::Float32, raw(values), &recorded);
  recorded.relative = 1e-5;
  recorded.absolute = 1e-5;
  take_sketch(DType::Float32, raw(values), &actual);
  EXPECT_FALSE(departs(recorded, actual));
  for (float& value : values) value += 1e-7F;
  take_sketch(DType::Float32, raw(values), &actual);
  EXPECT_FALSE(departs(recorded, actual));
  for (float& value : values) value += 1e-4F;
  take_sketch(DType::Float32, raw(values), &actual);
  EXPECT_TRUE(departs(recorded, actual));
  values[3] = std::numeric_limits<float>::quiet_NaN();
  take_sketch(DType::Float32, raw(values), &actual);
  EXPECT_EQ(actual.not_finite, 1u);
  EXPECT_TRUE(departs(recorded, actual));
  take_sketch(DType::Float32, raw(std::vector<float>(999)), &actual);
  EXPECT_TRUE(departs(recorded, actual));
}

TEST(GoldenSketch, TakesEmptyTensorsAndRawTypes) {
  tiffin_golden_sketch sketch{};
  take_sketch(DType::Float32, {}, &sketch);
  EXPECT_EQ(sketch.elements, 0u);
  EXPECT_FALSE(departs(sketch, sketch));
  const std::vector<uint8_t> bytes = {1, 2, 3};
  take_sketch(DType::Float8E5M2, raw(bytes), &sketch);
  EXPECT_EQ(sketch.sum, 6);
}

}  // namespace
}  // namespace tiffin::golden
