// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <gtest/gtest.h>

namespace tiffin {
namespace {

TEST(Array, GrowsAndKeepsItsElements) {
  Array<int> array;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(array.append(i));
  ASSERT_TRUE(array.append(array[0]));  // an element of its own while it grows
  ASSERT_TRUE(array.append(array.span().first(0)));
  EXPECT_EQ(array.size(), 1001u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(array[static_cast<size_t>(i)], i);
  EXPECT_EQ(array.back(), 0);
  ASSERT_TRUE(array.resize(2000));
  EXPECT_EQ(array[1999], 0);
}

TEST(Array, SaysWhenMemoryRunsOut) {
  Array<uint64_t> array;
  ASSERT_TRUE(array.append(7));
  EXPECT_FALSE(array.resize(SIZE_MAX / 2));
  EXPECT_FALSE(array.reserve(SIZE_MAX / 4));
  ASSERT_EQ(array.size(), 1u);
  EXPECT_EQ(array[0], 7u);
}

TEST(Array, MovesItsMemory) {
  Array<int> first;
  ASSERT_TRUE(first.append(5));
  const int* place = first.data();
  const Array<int> second(std::move(first));
  EXPECT_EQ(second.data(), place);
}

}  // namespace
}  // namespace tiffin
