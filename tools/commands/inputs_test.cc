// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tools/commands/npy.h"

namespace tiffin::tools {
namespace {

class Inputs : public ::testing::Test {
 protected:
  Inputs() {
    char name[] = "/tmp/inputs_test_XXXXXX";
    folder_ = mkdtemp(name);
    arguments_.inputs = folder_.c_str();
  }
  ~Inputs() override { std::filesystem::remove_all(folder_); }

  void save(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::Float32, uint8_t byte = 0) {
    HostTensor tensor = std::move(HostTensor::create(dtype, shape)).value();
    for (uint64_t i = 0; i < tensor.size_bytes(); ++i) tensor.bytes()[i] = byte;
    ASSERT_TRUE(write_npy((folder_ + "/" + name).c_str(), dtype, shape, tensor.bytes()).is_ok());
  }
  Result<FixedList<HostTensor>> match() {
    Result<FixedList<GivenFile>> given = find_given_files(arguments_);
    if (!given.has_value()) return given.take_error();
    return match_inputs({given->begin(), given->size()}, wanted_, arguments_, nullptr);
  }
  Status failure() {
    Result<FixedList<HostTensor>> tensors = match();
    return tensors.has_value() ? Status() : tensors.take_error();
  }

  std::string folder_;
  Arguments arguments_;
  const int64_t shape_[2] = {1, 2};
  std::vector<WantedInput> wanted_ = {{"data", DType::Float32, shape_}, {"mask", DType::Bool, shape_}};
};

TEST_F(Inputs, FindsFilesByPositionAndByName) {
  save("input_0.npy", {1, 2});
  save("mask.npy", {1, 2}, DType::Bool, 1);
  save("output_0.npy", {9});
  const auto tensors = match();
  ASSERT_TRUE(tensors.has_value()) << tensors.error().message();
  EXPECT_EQ((*tensors)[1].bytes()[0], 1);
}

TEST_F(Inputs, NamesAllUnsetInputs) {
  const Status status = failure();
  EXPECT_EQ(status.code(), Code::UnsetInput);
  EXPECT_NE(std::string(status.message()).find("'data' (float32[1,2])"), std::string::npos) << status.message();
  EXPECT_NE(std::string(status.message()).find("'mask'"), std::string::npos) << status.message();
}

TEST_F(Inputs, FillsOnlyWhatIsNotGiven) {
  arguments_.values.fill = {FillKind::Ones, 0};
  save("mask.npy", {1, 2}, DType::Bool, 0);
  const auto tensors = match();
  ASSERT_TRUE(tensors.has_value());
  EXPECT_EQ((*tensors)[0].bytes()[3], 0x3F);
  EXPECT_EQ((*tensors)[1].bytes()[0], 0);
}

TEST_F(Inputs, TellsActualAndExpectedTypes) {
  arguments_.values.fill = {FillKind::Zeros, 0};
  save("data.npy", {1, 3});
  Status status = failure();
  EXPECT_EQ(status.code(), Code::ShapeMismatch);
  EXPECT_STREQ(status.message(), "input 'data' is float32[1,3], the model wants float32[1,2]");
  save("data.npy", {1, 2}, DType::Float64);
  status = failure();
  EXPECT_EQ(status.code(), Code::TypeMismatch);
  EXPECT_STREQ(status.message(), "input 'data' is float64[1,2], the model wants float32[1,2]");
}

TEST_F(Inputs, SuggestsTheNearestName) {
  save("date.npy", {1, 2});
  const Status status = failure();
  EXPECT_EQ(status.code(), Code::UnknownInput);
  EXPECT_STREQ(status.remedy(), "did you mean 'data'?");
}

TEST_F(Inputs, RefusesPositionsBeyondTheInputs) {
  save("input_2.npy", {1, 2});
  EXPECT_EQ(failure().code(), Code::UnknownInput);
}

TEST_F(Inputs, RefusesTwoFilesForOneInput) {
  save("input_0.npy", {1, 2});
  save("data.npy", {1, 2});
  EXPECT_EQ(failure().code(), Code::InvalidArgument);
}

TEST_F(Inputs, TakesAnExactNameBeforeAPosition) {
  wanted_ = {{"input_1", DType::Float32, shape_}, {"input_0", DType::Float32, shape_}};
  save("input_0.npy", {1, 2}, DType::Float32, 10);
  save("input_1.npy", {1, 2}, DType::Float32, 11);
  const auto tensors = match();
  ASSERT_TRUE(tensors.has_value()) << tensors.error().message();
  EXPECT_EQ((*tensors)[0].bytes()[0], 11);
  EXPECT_EQ((*tensors)[1].bytes()[0], 10);
}

TEST_F(Inputs, TakesNumbersThatNoInputHasAsPositions) {
  wanted_ = {{"input_1", DType::Float32, shape_}, {"input_2", DType::Float32, shape_}};
  save("input_0.npy", {1, 2});
  EXPECT_EQ(failure().code(), Code::UnsetInput);
  save("input_2.npy", {1, 2});
  EXPECT_EQ(failure().code(), Code::Ok);
  save("input_1.npy", {1, 2});
  const Status status = failure();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(std::string(status.message()).find("'input_1' is given twice"), std::string::npos) << status.message();
}

TEST_F(Inputs, TakesAnOutputFileThatHasTheNameOfAnInput) {
  wanted_ = {{"output_mask", DType::Float32, shape_}};
  save("output_mask.npy", {1, 2}, DType::Float32, 7);
  save("output_0.npy", {9});
  const auto tensors = match();
  ASSERT_TRUE(tensors.has_value()) << tensors.error().message();
  EXPECT_EQ((*tensors)[0].bytes()[0], 7);
}

TEST_F(Inputs, TellsWhichInputCannotBeRead) {
  arguments_.values.fill = {FillKind::Zeros, 0};
  save("data.npy", {1, 2});
  std::filesystem::resize_file(folder_ + "/data.npy", 130);
  const Status status = failure();
  EXPECT_EQ(status.code(), Code::InvalidInput);
  EXPECT_NE(std::string(status.message()).find("input 'data'"), std::string::npos) << status.message();
}

TEST_F(Inputs, NamesAMissingFolder) {
  arguments_.inputs = "/nonexistent-folder";
  EXPECT_EQ(failure().code(), Code::Io);
}

}  // namespace
}  // namespace tiffin::tools
