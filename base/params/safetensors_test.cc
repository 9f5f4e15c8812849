// SPDX-License-Identifier: Apache-2.0
#include "base/params/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/params/param_file.h"
#include "base/params/tvm_params.h"

namespace tiffin::params {
namespace {

std::vector<uint8_t> with_header(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::vector<uint8_t> bytes(8 + length + data_bytes);
  memcpy(bytes.data(), &length, 8);
  memcpy(bytes.data() + 8, header.data(), length);
  for (size_t i = 0; i < data_bytes; ++i) bytes[8 + length + i] = static_cast<uint8_t>(i);
  return bytes;
}

Code code_of(const std::vector<uint8_t>& bytes) {
  auto file = ParamFile::from_memory(bytes);
  return file.has_value() ? Code::Ok : file.error().code();
}

Code code_of(const std::string& header, size_t data_bytes) { return code_of(with_header(header, data_bytes)); }

TEST(Safetensors, ReadsTensorsInTheOrderOfTheHeader) {
  const auto bytes = with_header(
      R"({"b":{"dtype":"I8","shape":[3],"data_offsets":[8,11]},"__metadata__":{"format":"pt"},"a\u00e4":{"shape":[1,2],"data_offsets":[0,8],"dtype":"F32"}}  )",
      11);
  auto file = ParamFile::from_memory(bytes);
  ASSERT_TRUE(file.has_value()) << file.error().message();
  const auto entries = file->source().entries;
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(entries[0].data[0], 8);
  EXPECT_EQ(entries[1].name, "a\u00e4");
  EXPECT_EQ(entries[1].dtype, DType::Float32);
  ASSERT_EQ(entries[1].shape.size(), 2u);
  EXPECT_EQ(entries[1].shape[1], 2);
}

TEST(Safetensors, AcceptsScalarsAndEmptyTensors) {
  EXPECT_EQ(code_of("{}", 0), Code::Ok);
  EXPECT_EQ(code_of(R"({"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"e":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]}})", 8), Code::Ok);
}

TEST(Safetensors, RefusesContradictions) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_EQ(code_of("{" + a + "}", 4), Code::Ok);
  EXPECT_EQ(code_of("{" + a + "," + a + "}", 4), Code::InvalidParams);                                                         // duplicate
  EXPECT_EQ(code_of("{" + a + "}", 5), Code::InvalidParams);                                                                   // trailing
  EXPECT_EQ(code_of("{" + a + "}", 3), Code::Truncated);                                                                       // short
  EXPECT_EQ(code_of("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})", 5), Code::InvalidParams);            // overlap
  EXPECT_EQ(code_of("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})", 7), Code::InvalidParams);            // gap
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,4]}})", 4), Code::InvalidParams);                     // byte count
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4), Code::InvalidParams);                      // backwards
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})", 4), Code::InvalidParams);                     // negative
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0), Code::InvalidParams);  // overflow
  EXPECT_EQ(code_of(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0), Code::InvalidParams);   // overflow in bytes
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,4]}})", 4), Code::InvalidParams);   // not an integer
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", 4), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}})", 4), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", 4), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"a":{"dtype":"Q7","shape":[4],"data_offsets":[0,4]}})", 4), Code::UnsupportedType);
  EXPECT_EQ(code_of(R"({"a":[1,2]})", 0), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"__metadata__":{"a":1}})", 0), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({"a":)", 0), Code::InvalidParams);
  EXPECT_EQ(code_of(R"({} {})", 0), Code::InvalidParams);
  EXPECT_EQ(code_of(std::string("{}\0xx", 5), 0), Code::InvalidParams);
  EXPECT_EQ(code_of("{\"\xff\":{}}", 0), Code::InvalidParams);
  EXPECT_EQ(code_of("{\"a\":" + std::string(100000, '['), 0), Code::InvalidParams);  // deep nesting
}

TEST(Safetensors, NamesTruncatedHeaders) {
  auto bytes = with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
  for (size_t length = 9; length < bytes.size(); ++length) {
    EXPECT_EQ(code_of({bytes.begin(), bytes.begin() + static_cast<long>(length)}), Code::Truncated) << length;
  }
  EXPECT_EQ(code_of(std::vector<uint8_t>{}), Code::Truncated);
  EXPECT_EQ(code_of(std::vector<uint8_t>(100, 'x')), Code::InvalidParams);
}

TEST(Safetensors, WritesAlignedValuesThatReadBackInOrder) {
  const int64_t three[] = {3};
  const int64_t odd[] = {3, 5};
  const uint8_t small[] = {1, 2, 3};
  const double large[] = {1, 2, 3};
  const uint8_t packed[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const ParamEntry entries[] = {{"z \"quoted\"", DType::Int8, three, 3, small},
                                {"a", DType::Float64, three, 24, reinterpret_cast<const uint8_t*>(large)},
                                {"four", DType::Int4, odd, 8, packed}};
  Array<uint8_t> out;
  ASSERT_TRUE(write_safetensors({entries}, memory_sink(out)).is_ok());
  uint64_t header_bytes = 0;
  memcpy(&header_bytes, out.data(), 8);
  EXPECT_EQ(header_bytes % 8, 0u);
  auto file = ParamFile::from_memory(out.span());
  ASSERT_TRUE(file.has_value()) << file.error().message();
  const auto back = file->source().entries;
  ASSERT_EQ(back.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back[i].name, entries[i].name);
    EXPECT_EQ(back[i].dtype, entries[i].dtype);
    EXPECT_TRUE(std::equal(back[i].shape.begin(), back[i].shape.end(), entries[i].shape.begin(), entries[i].shape.end()));
    EXPECT_EQ(memcmp(back[i].data, entries[i].data, entries[i].bytes), 0);
  }
  EXPECT_EQ((back[1].data - out.data()) % 8, 0);
  Array<uint8_t> again;
  ASSERT_TRUE(write_safetensors(file->source(), memory_sink(again)).is_ok());
  EXPECT_EQ(std::vector<uint8_t>(out.begin(), out.end()), std::vector<uint8_t>(again.begin(), again.end()));
}

TEST(Safetensors, RefusesNamesItCannotHold) {
  Array<uint8_t> out;
  const ParamEntry reserved[] = {{"__metadata__", DType::Int8, {}, 1, out.data()}};
  EXPECT_EQ(write_safetensors({reserved}, memory_sink(out)).code(), Code::InvalidParams);
  const ParamEntry latin[] = {{"\xe4", DType::Int8, {}, 1, out.data()}};
  EXPECT_EQ(write_safetensors({latin}, memory_sink(out)).code(), Code::InvalidParams);
}

TEST(Safetensors, ChangedBytesNeverCrash) {
  const auto good = with_header(R"({"__metadata__":{"tiffin.dtype.a":"int4[2,4]"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
  ASSERT_EQ(code_of(good), Code::Ok);
  for (size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      auto bytes = good;
      bytes[at] = static_cast<uint8_t>(value);
      (void)code_of(bytes);
    }
  }
}

}  // namespace
}  // namespace tiffin::params
