// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/artifact/contents.h"

namespace tiffin::artifact {
namespace {

// Parameters of so many bytes each, the i-th filled with i.
Contents contents_of(const std::vector<int64_t>& sizes) {
  Contents contents;
  for (const int64_t size : sizes) {
    auto row = std::make_unique<abi::ParameterT>();
    row->dtype = static_cast<uint8_t>(DType::UInt8);
    row->shape = {size};
    row->bytes = static_cast<uint64_t>(size);
    contents.storage.parameters.push_back(std::move(row));
  }
  contents.read_parameter = [sizes](size_t index, Array<uint8_t>& scratch) -> Result<std::span<const uint8_t>> {
    if (!scratch.resize_uninitialized(static_cast<size_t>(sizes[index]))) return error(Code::OutOfMemory, "no memory");
    std::fill(scratch.begin(), scratch.end(), static_cast<uint8_t>(index));
    return std::span<const uint8_t>(scratch.span());
  };
  return contents;
}

TEST(HashParameters, GivesTheDigestOfEachInTheirOrder) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {3, 0, 5}, {5'000'000, 1, 9'000'000, 7, 4'000'000, 4'000'001}}) {
    const auto digests = hash_parameters(contents_of(sizes));
    ASSERT_TRUE(digests.has_value()) << digests.error().message();
    ASSERT_EQ(digests->size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<uint8_t> bytes(static_cast<size_t>(sizes[i]), static_cast<uint8_t>(i));
      EXPECT_EQ((*digests)[i], tensor_digest(DType::UInt8, {&sizes[i], 1}, bytes)) << i;
    }
  }
}

TEST(HashParameters, SaysWhyAParameterCannotBeRead) {
  Contents contents = contents_of({5'000'000, 5'000'000, 5'000'000, 5'000'000});
  contents.read_parameter = [read = contents.read_parameter](size_t index, Array<uint8_t>& scratch) {
    return index == 2 ? Result<std::span<const uint8_t>>(error(Code::Io, "the disk is gone")) : read(index, scratch);
  };
  const auto digests = hash_parameters(contents);
  ASSERT_FALSE(digests.has_value());
  EXPECT_EQ(digests.error().code(), Code::Io);
  EXPECT_STREQ(digests.error().message(), "the disk is gone");
}

}  // namespace
}  // namespace tiffin::artifact
