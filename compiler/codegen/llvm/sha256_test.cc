// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/sha256.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace tiffin::codegen {
namespace {

// The digest of "abc" in FIPS 180-2.
TEST(Sha256, of_a_file) {
  const std::string path = testing::TempDir() + "/sha256_test";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fputs("abc", file);
  std::fclose(file);
  const Result<std::string> digest = sha256_of_file(path);
  std::remove(path.c_str());
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(*digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, of_no_file) {
  const Result<std::string> digest = sha256_of_file("/nowhere/to/be/found");
  ASSERT_FALSE(digest.has_value());
  EXPECT_EQ(digest.error().code(), Code::Io);
}

}  // namespace
}  // namespace tiffin::codegen
