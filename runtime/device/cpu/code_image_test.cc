// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/code_image.h"

#include <gtest/gtest.h>

#include <vector>

namespace tiffin::runtime {
namespace {

TEST(CodeImage, HashesTheCopyBeforeItCanRun) {
  const std::vector<uint8_t> bytes(8192, 0xC3);
  const auto source = Source::from_memory(bytes);
  const CodeLayout layout{0, 4096, 4096, 4096, 4096};
  const Digest right = digest_of(bytes), wrong{};
  const auto good = CodeImage::load(*source, layout, true, &right);
  ASSERT_TRUE(good.has_value()) << good.error().message();
  EXPECT_TRUE(good->is_copied());
  const auto bad = CodeImage::load(*source, layout, true, &wrong);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code(), Code::DigestMismatch);
}

}  // namespace
}  // namespace tiffin::runtime
