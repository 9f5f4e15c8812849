// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace tiffin::tools {
namespace {

class Npy : public ::testing::Test {
 protected:
  Npy() {
    char name[] = "/tmp/npy_test_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/x.npy";
  }
  ~Npy() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  static std::string file_bytes(const std::string& header, const std::string& data, int major = 1) {
    std::string out = "\x93NUMPY";
    out += static_cast<char>(major);
    out += '\0';
    for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i));
    return out + header + data;
  }
  static std::string header(const std::string& descr, const std::string& shape, const char* order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  }

  void save(const std::string& bytes) {
    FILE* file = fopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    fwrite(bytes.data(), 1, bytes.size(), file);
    fclose(file);
  }
  Result<HostTensor> read(const std::string& bytes) {
    save(bytes);
    return read_npy(path_.c_str());
  }
  Code code_of(const std::string& bytes) {
    const Result<HostTensor> tensor = read(bytes);
    return tensor.has_value() ? Code::Ok : tensor.error().code();
  }
  static std::string bytes_of(const HostTensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()}; }

  std::string folder_, path_;
};

template <class T>
std::string raw(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(Npy, ReadsEveryTypeThatNumpyHas) {
  const struct {
    const char* descr;
    DType dtype;
    size_t bytes;
  } kCases[] = {{"'<f2'", DType::Float16, 2},   {"'<f4'", DType::Float32, 4},      {"'<f8'", DType::Float64, 8},  {"'|i1'", DType::Int8, 1},
                {"'<i2'", DType::Int16, 2},     {"'<i4'", DType::Int32, 4},        {"'<i8'", DType::Int64, 8},    {"'|u1'", DType::UInt8, 1},
                {"'<u2'", DType::UInt16, 2},    {"'<u4'", DType::UInt32, 4},       {"'<u8'", DType::UInt64, 8},   {"'|b1'", DType::Bool, 1},
                {"'<c8'", DType::Complex64, 8}, {"'<c16'", DType::Complex128, 16}, {"\"=f4\"", DType::Float32, 4}};
  for (const auto& row : kCases) {
    const std::string data(row.bytes * 2, '\1');
    const Result<HostTensor> tensor = read(file_bytes(header(row.descr, "(2,)"), data));
    ASSERT_TRUE(tensor.has_value()) << row.descr << ": " << tensor.error().message();
    EXPECT_EQ(tensor->dtype(), row.dtype);
    EXPECT_EQ(bytes_of(*tensor), data);
  }
}

TEST_F(Npy, ConvertsBigEndianElements) {
  const Result<HostTensor> tensor = read(file_bytes(header("'>i4'", "(2,)"), std::string("\0\0\0\1\0\0\1\0", 8)));
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(bytes_of(*tensor), raw<int32_t>({1, 256}));
  const Result<HostTensor> pair = read(file_bytes(header("'>c8'", "()"), std::string("\0\0\0\1\0\0\0\2", 8)));
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(bytes_of(*pair), raw<int32_t>({1, 2}));
}

TEST_F(Npy, ConvertsFortranOrder) {
  const Result<HostTensor> tensor = read(file_bytes(header("'<i2'", "(2, 3)", "True"), raw<int16_t>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(bytes_of(*tensor), raw<int16_t>({0, 1, 2, 3, 4, 5}));
  const Result<HostTensor> cube = read(file_bytes(header("'|u1'", "(2, 2, 2)", "True"), std::string("\0\4\2\6\1\5\3\7", 8)));
  ASSERT_TRUE(cube.has_value());
  EXPECT_EQ(bytes_of(*cube), std::string("\0\1\2\3\4\5\6\7", 8));
  EXPECT_EQ(code_of(file_bytes(header("'<f4'", "(0, 3)", "True"), "")), Code::Ok);
}

TEST_F(Npy, ReadsAllVersionsScalarsAndEmptyArrays) {
  for (int major = 1; major <= 3; ++major) EXPECT_EQ(code_of(file_bytes(header("'<f4'", "()"), "abcd", major)), Code::Ok) << major;
  const Result<HostTensor> empty = read(file_bytes(header("'<f4'", "(2, 0)"), ""));
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(empty->num_elements(), 0u);
  EXPECT_EQ(code_of(file_bytes(header("'<f4'", "(1L,)"), "abcd")), Code::Ok);
}

TEST_F(Npy, MakesBoolsZeroOrOne) {
  const Result<HostTensor> tensor = read(file_bytes(header("'|b1'", "(3,)"), std::string("\0\1\2", 3)));
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(bytes_of(*tensor), std::string("\0\1\1", 3));
}

TEST_F(Npy, RefusesWhatIsNoArrayOfNumbers) {
  const std::string good = file_bytes(header("'<f4'", "(2,)"), "abcdefgh");
  for (size_t length = 0; length < good.size(); ++length) EXPECT_EQ(code_of(good.substr(0, length)), Code::InvalidInput) << length;
  EXPECT_EQ(code_of("hello, this is a text"), Code::InvalidInput);
  EXPECT_EQ(code_of(file_bytes(header("'<f4'", "(2,)"), "abcdefgh", 4)), Code::InvalidInput);
  for (const char* descr : {"'|O'", "'<U4'", "'|S3'", "'<M8[s]'", "'<f16'", "'|V3'", "[('a', '<f4')]", "4", "'<f4\\'", "''"}) {
    EXPECT_EQ(code_of(file_bytes(header(descr, "(1,)"), "abcdabcdabcdabcd")), Code::InvalidInput) << descr;
  }
  for (const char* shape : {"(-1,)", "(1.5,)", "1", "(1", "(99999999999999999999,)", "(4294967296, 4294967296)", "(1152921504606846976,)",
                            "(4611686018427387904,)", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "(1 1)"}) {
    EXPECT_EQ(code_of(file_bytes(header("'<f4'", shape), "abcd")), Code::InvalidInput) << shape;
  }
  EXPECT_EQ(code_of(file_bytes("{'descr': '<f4', 'shape': (1,)}", "abcd")), Code::InvalidInput);
  EXPECT_EQ(code_of(file_bytes("{'descr': '<f4', 'descr': '|V1', 'fortran_order': False, 'shape': (1,)}", "a")), Code::InvalidInput);
  EXPECT_EQ(code_of(file_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (1,)}", "abcd")), Code::InvalidInput);
  EXPECT_EQ(code_of(good + "x"), Code::InvalidInput);
  EXPECT_EQ(code_of(file_bytes(header("'<f4'", "(1,)") + "x", "abcd")), Code::InvalidInput);
}

TEST_F(Npy, NamesWhatCannotBeOpened) {
  EXPECT_EQ(read_npy((path_ + ".absent").c_str()).error().code(), Code::Io);
  EXPECT_EQ(read_npy(folder_.c_str()).error().code(), Code::Io);
}

TEST_F(Npy, AdoptsRawElements) {
  const DType bfloat16 = DType::BFloat16;
  Result<HostTensor> halves = read(file_bytes(header("'<V2'", "(2,)"), "abcd"));
  ASSERT_TRUE(halves.has_value());
  EXPECT_STREQ(type_text(*halves).text, "raw2[2]");
  Result<HostTensor> adopted = adopt_raw(std::move(*halves), bfloat16);
  ASSERT_TRUE(adopted.has_value());
  EXPECT_EQ(adopted->dtype(), bfloat16);
  EXPECT_EQ(bytes_of(*adopted), "abcd");

  Result<HostTensor> nibbles = read(file_bytes(header("'|V1'", "(3,)"), std::string("\1\xF\7", 3)));
  ASSERT_TRUE(nibbles.has_value());
  Result<HostTensor> packed = adopt_raw(std::move(*nibbles), DType::Int4);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(bytes_of(*packed), "\xF1\7");

  Result<HostTensor> other = read(file_bytes(header("'|V1'", "(1,)"), "a"));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(adopt_raw(std::move(*other), DType::Float32)->dtype(), DType::Undefined);
}

TEST_F(Npy, WritesWhatItReads) {
  const std::vector<int64_t> shape = {2, 3};
  const std::string data = raw<float>({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(write_npy(path_.c_str(), DType::Float32, shape, reinterpret_cast<const uint8_t*>(data.data())).is_ok());
  const Result<HostTensor> tensor = read_npy(path_.c_str());
  ASSERT_TRUE(tensor.has_value());
  EXPECT_STREQ(type_text(*tensor).text, "float32[2,3]");
  EXPECT_EQ(bytes_of(*tensor), data);
}

TEST_F(Npy, UnpacksSmallElementsOneToAByte) {
  const std::vector<int64_t> shape = {3};
  const uint8_t data[] = {0xF1, 0x07};
  ASSERT_TRUE(write_npy(path_.c_str(), DType::UInt4, shape, data).is_ok());
  const Result<HostTensor> tensor = read_npy(path_.c_str());
  ASSERT_TRUE(tensor.has_value());
  EXPECT_STREQ(type_text(*tensor).text, "raw1[3]");
  EXPECT_EQ(bytes_of(*tensor), std::string("\1\xF\7", 3));
}

}  // namespace
}  // namespace tiffin::tools
