// SPDX-License-Identifier: Apache-2.0
#include "base/params/tvm_params.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/params/param_file.h"

namespace tiffin::params {
namespace {

std::vector<uint8_t> from_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  std::string digits;
  for (const char c : text) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<uint8_t>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

// w: float32[1,2] = {1, 2}; bias: int8[3] = {-1, 0, 1}.
std::vector<uint8_t> two_arrays() {
  return from_hex(
      "b79c04054f8de5f7 0000000000000000 0200000000000000 0100000000000000 77 0400000000000000 62696173 0200000000000000"
      "3fa1b496f0405edd 0000000000000000 01000000 00000000 02000000 02 20 0100"
      "0100000000000000 0200000000000000 0800000000000000 0000803f 00000040"
      "3fa1b496f0405edd 0000000000000000 01000000 00000000 01000000 00 08 0100"
      "0300000000000000 0300000000000000 ff0001");
}

// One array "t" of three elements of the given type.
std::vector<uint8_t> one_array(int code, int bits, int said_bytes, const std::vector<uint8_t>& values) {
  auto bytes = from_hex(
      "b79c04054f8de5f7 0000000000000000 0100000000000000 0100000000000000 74 0100000000000000"
      "3fa1b496f0405edd 0000000000000000 01000000 00000000 01000000");
  for (const int byte : {code, bits, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, said_bytes, 0, 0, 0, 0, 0, 0, 0}) bytes.push_back(static_cast<uint8_t>(byte));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

std::vector<uint8_t> written(const ParamSource& source) {
  Array<uint8_t> out;
  EXPECT_TRUE(write_tvm_params(source, memory_sink(out)).is_ok());
  return {out.begin(), out.end()};
}

Code code_of(const std::vector<uint8_t>& bytes) {
  auto file = ParamFile::from_memory(bytes);
  return file.has_value() ? Code::Ok : file.error().code();
}

TEST(TvmParams, ReadsTheVectorAndWritesItBack) {
  const auto bytes = two_arrays();
  ASSERT_EQ(bytes.size(), 168u);
  auto file = ParamFile::from_memory(bytes);
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(file->format(), Format::TvmParams);
  const ParamSource source = file->source();
  ASSERT_EQ(source.entries.size(), 2u);
  EXPECT_EQ(source.entries[0].name, "w");
  EXPECT_EQ(source.entries[0].dtype, DType::Float32);
  EXPECT_EQ(source.entries[0].shape.size(), 2u);
  EXPECT_EQ(source.entries[1].name, "bias");
  EXPECT_EQ(source.entries[1].shape[0], 3);
  EXPECT_EQ(source.entries[1].data[0], 0xff);
  EXPECT_EQ(written(source), bytes);
}

TEST(TvmParams, KeepsEverySpellingOfAType) {
  for (const auto& bytes : {one_array(1, 1, 3, {1, 0, 1}), one_array(6, 8, 3, {1, 0, 1}), one_array(4, 16, 6, {1, 2, 3, 4, 5, 6}),
                            one_array(0, 4, 3, {15, 8, 7}), one_array(1, 2, 3, {3, 0, 2}), one_array(10, 8, 3, {1, 2, 3})}) {
    auto file = ParamFile::from_memory(bytes);
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_EQ(written(file->source()), bytes);
  }
}

TEST(TvmParams, PacksFourBitElements) {
  const auto bytes = one_array(0, 4, 3, {15, 8, 7});
  auto file = ParamFile::from_memory(bytes);
  ASSERT_TRUE(file.has_value());
  const ParamEntry& entry = file->source().entries[0];
  EXPECT_EQ(entry.dtype, DType::Int4);
  ASSERT_EQ(entry.bytes, 2u);
  EXPECT_EQ(entry.data[0], 0x8f);
  EXPECT_EQ(entry.data[1], 0x07);
}

TEST(TvmParams, NamesEveryTruncation) {
  const auto bytes = two_arrays();
  for (size_t length = 8; length < bytes.size(); ++length) {
    EXPECT_EQ(code_of({bytes.begin(), bytes.begin() + static_cast<long>(length)}), Code::Truncated) << length;
  }
}

TEST(TvmParams, RefusesContradictions) {
  auto trailing = two_arrays();
  trailing.push_back(0);
  EXPECT_EQ(code_of(trailing), Code::InvalidParams);
  auto twice = from_hex("b79c04054f8de5f7 0000000000000000 0200000000000000 0100000000000000 77 0100000000000000 77 0200000000000000");
  const std::string array = "3fa1b496f0405edd 0000000000000000 01000000 00000000 00000000 00 08 0100 0100000000000000 07";
  for (int i = 0; i < 2; ++i) {
    const auto more = from_hex(array);
    twice.insert(twice.end(), more.begin(), more.end());
  }
  EXPECT_EQ(code_of(twice), Code::InvalidParams);
  EXPECT_EQ(code_of(one_array(2, 32, 3, {1, 2, 3})), Code::InvalidParams);          // byte count
  EXPECT_EQ(code_of(one_array(1, 1, 0, {})), Code::InvalidParams);                  // bool without values
  EXPECT_EQ(code_of(one_array(6, 8, 3, {0x38, 0x40, 0xb8})), Code::InvalidParams);  // float8 under bool's code
  EXPECT_EQ(code_of(one_array(3, 64, 24, {})), Code::UnsupportedType);              // handles
}

TEST(TvmParams, HugeCountsAskForNoMemory) {
  auto names = two_arrays();
  names.resize(16);
  for (const int byte : {0, 0, 0, 0, 0, 0, 0, 0x10}) names.push_back(static_cast<uint8_t>(byte));
  EXPECT_EQ(code_of(names), Code::Truncated);
  auto shape = two_arrays();
  const size_t first_dimension = 24 + 9 + 12 + 8 + 32;
  for (size_t i = 0; i < 8; ++i) shape[first_dimension + i] = i < 7 ? 0xff : 0x7f;
  EXPECT_EQ(code_of(shape), Code::InvalidParams);
  shape[first_dimension + 7] = 0xff;  // negative
  EXPECT_EQ(code_of(shape), Code::InvalidParams);
}

TEST(TvmParams, AnEmptySetHas32Bytes) {
  const auto bytes = written({});
  EXPECT_EQ(bytes.size(), 32u);
  EXPECT_EQ(code_of(bytes), Code::Ok);
}

TEST(TvmParams, ChangedBytesNeverCrash) {
  const auto good = two_arrays();
  for (size_t at = 0; at < good.size(); ++at) {
    for (const uint8_t value : {uint8_t{0}, uint8_t{1}, uint8_t{0x7f}, uint8_t{0xff}}) {
      auto bytes = good;
      bytes[at] = value;
      (void)code_of(bytes);
    }
  }
}

}  // namespace
}  // namespace tiffin::params
