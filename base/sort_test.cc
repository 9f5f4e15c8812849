// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tiffin {
namespace {

TEST(Sort, AgreesWithTheStandardOne) {
  std::mt19937 random(7);
  for (const size_t count : {0, 1, 2, 3, 17, 1000}) {
    std::vector<uint32_t> values(count);
    for (uint32_t& value : values) value = random() % 50;
    std::vector<uint32_t> expected = values;
    std::sort(expected.begin(), expected.end());
    sort(std::span(values), [](uint32_t a, uint32_t b) { return a < b; });
    EXPECT_EQ(values, expected);
  }
}

TEST(Sort, ComparesByContext) {
  const std::vector<int> keys = {5, 1, 4, 2, 3};
  std::vector<size_t> order = {0, 1, 2, 3, 4};
  sort(std::span(order), [&keys](size_t a, size_t b) { return keys[a] < keys[b]; });
  EXPECT_EQ(order, (std::vector<size_t>{1, 3, 4, 2, 0}));
}

}  // namespace
}  // namespace tiffin
