// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace tiffin {
namespace {

TEST(Text, SpellsTypesAndNames) {
  const int64_t shape[] = {128, 64};
  Text text;
  text.add_quoted("fc1\n\x7f.weight");
  text.add(" is ");
  text.add_type(DType::Float32, shape);
  text.add(", ");
  text.add_type(DType::Bool, {});
  text.add(" ");
  text.add_number(INT64_MIN);
  EXPECT_STREQ(text.c_str(), "'fc1\\x0a\\x7f.weight' is float32[128,64], bool[] -9223372036854775808");
  EXPECT_FALSE(text.has_failed());
}

TEST(Text, KeepsUtf8AndEmptyNames) {
  Text text;
  EXPECT_TRUE(text.empty());
  EXPECT_STREQ(text.c_str(), "");
  text.add_quoted("");
  text.add_quoted("ü");
  EXPECT_EQ(text.view(), "'''ü'");
}

}  // namespace
}  // namespace tiffin
