// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/tensor_proto.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model_bytes.h"

namespace tiffin::import {
namespace {

using graph::Tensor;

// A TensorProto whose elements stand in a typed field, packed.
template <class Element>
std::string typed(int dtype, std::vector<int64_t> dims, uint32_t field, const std::vector<Element>& elements) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const int64_t extent : dims) writer.add_int64(1, extent);
  writer.add_int32(2, dtype);
  if constexpr (std::is_same_v<Element, float>) {
    writer.add_packed_float(field, elements.begin(), elements.end());
  } else if constexpr (std::is_same_v<Element, double>) {
    writer.add_packed_double(field, elements.begin(), elements.end());
  } else {
    writer.add_packed_int64(field, elements.begin(), elements.end());
  }
  return out;
}

Tensor read_tensor(const std::string& bytes) {
  auto read = read_tensor_proto(as_span(bytes), nullptr);
  EXPECT_TRUE(read.has_value()) << read.error().message();
  return read ? read->tensor : Tensor();
}

Code failure_of(const std::string& bytes) {
  const auto read = read_tensor_proto(as_span(bytes), nullptr);
  return read ? Code::Ok : read.error().code();
}

using Ints = std::vector<int64_t>;

TEST(TensorProto, TypedFields) {
  EXPECT_EQ(read_tensor(typed<float>(1, {2}, 4, {1.5f, -2})).to_doubles(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(read_tensor(typed<double>(11, {1}, 10, {0.1})).to_doubles(), std::vector<double>{0.1});
  EXPECT_EQ(read_tensor(typed<int64_t>(7, {2}, 7, {-1, 5})).to_int64s(), (Ints{-1, 5}));
  EXPECT_EQ(read_tensor(typed<int64_t>(6, {2}, 5, {-1, 5})).to_int64s(), (Ints{-1, 5}));
  EXPECT_EQ(read_tensor(typed<int64_t>(3, {2}, 5, {-128, 127})).to_int64s(), (Ints{-128, 127}));
  EXPECT_EQ(read_tensor(typed<int64_t>(2, {1}, 5, {255})).to_int64s(), Ints{255});
  EXPECT_EQ(read_tensor(typed<int64_t>(12, {1}, 11, {4294967295})).to_int64s(), Ints{4294967295});
  EXPECT_EQ(read_tensor(typed<int64_t>(9, {3}, 5, {0, 1, 7})).to_int64s(), (Ints{0, 1, 1}));
  EXPECT_EQ(read_tensor(typed<int64_t>(10, {1}, 5, {0x3C00})).to_doubles(), std::vector<double>{1});
  EXPECT_EQ(read_tensor(typed<float>(14, {1}, 4, {1, 2})).bytes().size(), 8u);
  EXPECT_EQ(read_tensor(typed<int64_t>(22, {3}, 5, {0x21, 0x0F})).bytes().size(), 2u);
  EXPECT_EQ(read_tensor(typed<int64_t>(25, {5}, 5, {0xE4, 0x01})).bytes().size(), 2u);
  EXPECT_EQ(read_tensor(typed<int64_t>(7, {0, 4}, 7, {})).num_elements(), 0);
}

TEST(TensorProto, WrongElements) {
  EXPECT_EQ(failure_of(typed<float>(1, {3}, 4, {1, 2})), Code::InvalidModel);
  EXPECT_EQ(failure_of(typed<float>(1, {1}, 4, {1, 2})), Code::InvalidModel);
  EXPECT_EQ(failure_of(typed<float>(7, {2}, 4, {1, 2})), Code::InvalidModel);
  EXPECT_EQ(failure_of(typed<int64_t>(2, {1}, 5, {256})), Code::InvalidModel);
  EXPECT_EQ(failure_of(typed<int64_t>(1, {int64_t{1} << 60}, 5, {})), Code::InvalidModel);
  EXPECT_EQ(failure_of(typed<int64_t>(8, {1}, 5, {})), Code::UnsupportedType);
  EXPECT_EQ(failure_of(typed<int64_t>(0, {1}, 5, {})), Code::InvalidModel);
  EXPECT_EQ(failure_of(TensorBytes{"w", 1, {1}, "abcd"}.bytes()), Code::Ok);
  EXPECT_EQ(failure_of(TensorBytes{"w", 1, {1}, "abcd"}.bytes() + typed<float>(1, {}, 4, {1})), Code::InvalidModel);
  EXPECT_EQ(failure_of(TensorBytes{"w", 1, {1}, "", {{"location", "w.bin"}}}.bytes()), Code::InvalidModel);
}

TEST(TensorProto, RoundTrip) {
  const Tensor tensor = Tensor::int64s(std::vector<int64_t>{1, -2, 3}).reshaped({3, 1});
  const std::vector<uint8_t> bytes = write_tensor_proto("t", tensor);
  const auto read = read_tensor_proto(bytes, nullptr);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name, "t");
  EXPECT_TRUE(read->tensor.equals(tensor));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_tensor_proto(std::span(bytes).first(length), nullptr).has_value()) << length;
  }
}

// A model with one external weight of two floats, in a folder of its own.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tiffin_external_XXXXXX";
    root_ = mkdtemp(name);
    folder_ = root_ + "/model";
    mkdir(folder_.c_str(), 0755);
    const float elements[] = {0, 1, 2};
    write(folder_ + "/w.bin", std::string(reinterpret_cast<const char*>(elements), sizeof elements));
    write(root_ + "/outside.bin", "01234567");
  }
  void TearDown() override {
    for (const char* file : {"/model/w.bin", "/model/m.onnx", "/model/link", "/outside.bin"}) unlink((root_ + file).c_str());
    rmdir(folder_.c_str());
    rmdir(root_.c_str());
  }
  static void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  Result<ImportedModel> import_with(std::vector<std::pair<std::string, std::string>> entries) {
    const GraphBytes graph{{NodeBytes("Add", {"x", "w"}, {"y"})}, {{"x", {2}}}, {"y"}, {TensorBytes{"w", 1, {2}, "", std::move(entries)}}};
    write(folder_ + "/m.onnx", ModelBytes{graph}.bytes());
    return import_onnx(folder_ + "/m.onnx", {});
  }
  void expect_failure(std::vector<std::pair<std::string, std::string>> entries, const std::string& word, Code code = Code::InvalidModel) {
    const auto imported = import_with(std::move(entries));
    ASSERT_FALSE(imported.has_value()) << word;
    EXPECT_EQ(imported.error().code(), code);
    EXPECT_NE(std::string(imported.error().message()).find(word), std::string::npos) << imported.error().message();
  }

  std::string root_, folder_;
};

TEST_F(ExternalData, IsMapped) {
  const auto imported = import_with({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_EQ(imported->graph.value(imported->graph.find_value("w")).tensor.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_TRUE(import_with({{"location", "./w.bin"}}).has_value());
}

TEST_F(ExternalData, PlacesThatAreRefused) {
  ASSERT_EQ(symlink("../outside.bin", (folder_ + "/link").c_str()), 0);
  expect_failure({{"location", "/etc/passwd"}}, "absolute");
  expect_failure({{"location", "../outside.bin"}}, "'..'");
  expect_failure({{"location", "sub/../../outside.bin"}}, "'..'");
  expect_failure({{"location", "link"}}, "outside the model's folder");
  expect_failure({{"location", ""}}, "empty");
  expect_failure({{"location", "missing.bin"}}, "missing.bin", Code::Io);
  expect_failure({{"location", "."}}, "folder");
}

TEST_F(ExternalData, RangesThatAreRefused) {
  expect_failure({{"location", "w.bin"}, {"offset", "8"}}, "beyond");
  expect_failure({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "beyond");
  expect_failure({{"location", "w.bin"}, {"offset", "99999999999999999999"}}, "offset");
  expect_failure({{"location", "w.bin"}, {"offset", "-4"}}, "offset");
  expect_failure({{"location", "w.bin"}, {"length", "12"}}, "length 12");
  expect_failure({{"location", "w.bin"}, {"length", ""}}, "length");
}

TEST_F(ExternalData, TensorFiles) {
  const std::vector<uint8_t> bytes = write_tensor_proto("", Tensor::scalar_float(2));
  write(folder_ + "/m.onnx", std::string(bytes.begin(), bytes.end()));
  EXPECT_TRUE(read_tensor_file(folder_ + "/m.onnx").has_value());
  EXPECT_EQ(read_tensor_file(folder_ + "/w.bin").error().code(), Code::InvalidInput);
  EXPECT_EQ(read_tensor_file(folder_ + "/none").error().code(), Code::Io);
}

}  // namespace
}  // namespace tiffin::import
