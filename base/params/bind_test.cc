// SPDX-License-Identifier: Apache-2.0
#include "base/params/bind.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include "abi/artifact.h"
#include "base/atomic_file.h"
#include "base/params/safetensors.h"
#include "base/params/testing_plans.h"
#include "base/params/write_params.h"

namespace tiffin::params {
namespace {

using namespace testing;

// A model of three parameters: one transposed into panels, one as it is beside a square root of it, one frozen.
struct Model {
  explicit Model(bool is_transposed = true)
      : spec{{{"fc1.weight", DType::Float32, {4, 6}}, {"fc1.bias", DType::Float32, {6}}, {"axes", DType::Int64, {2}, true}}, {}} {
    if (is_transposed) {
      spec.stored.push_back({"panels", DType::Float32, {6, 4}, {{0, {4, 6}, {6, 1}, {1, 4}}}, {}, {}});
    } else {
      spec.stored.push_back(identity(spec, 0));
    }
    spec.stored.push_back(identity(spec, 1));
    spec.stored.push_back(identity(spec, 2));
    spec.stored.push_back(
        {"root", DType::Float32, {6}, {}, {{abi::VectorOp::LoadParameter, DType::Float32, 1}, {abi::VectorOp::SquareRoot, DType::Float32}}, {}});
    for (const auto& parameter : spec.parameters) values.bytes.emplace_back(byte_count(parameter.dtype, parameter.shape));
    for (auto& bytes : values.bytes) {
      for (size_t i = 0; i < bytes.size(); i += 4) {
        const float value = 1.0f + static_cast<float>(i);
        memcpy(bytes.data() + i, &value, 4);
      }
    }
  }

  StoragePlan plan() const { return std::move(StoragePlan::read(build_plan(spec))).value(); }
  Array<Digest> digests() { return std::move(parameter_digests(plan(), values.reader())).value(); }
  std::vector<ParamEntry> entries(const StoragePlan& plan) const {
    std::vector<ParamEntry> list(plan.parameters().begin(), plan.parameters().end());
    for (size_t i = 0; i < list.size(); ++i) list[i].data = values.bytes[i].data();
    return list;
  }
  std::vector<uint8_t> weights() {
    Array<uint8_t> out;
    const Array<Digest> list = digests();
    EXPECT_TRUE(write_weights(plan(), list.span(), values.reader(), memory_sink(out)).is_ok());
    return {out.begin(), out.end()};
  }

  PlanSpec spec;
  Values values;
};

bool mentions(const Status& status, const char* text) { return strstr(status.message(), text) != nullptr; }

// A folder that goes away with its files.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/tiffin-params-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { EXPECT_EQ(system(("rm -r " + path_).c_str()), 0); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Bind, EveryWayGivesTheSameBits) {
  Model model;
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  std::vector<uint8_t> expected(plan.data_bytes());
  ASSERT_TRUE(plan.fill_data(model.values.reader(), expected).is_ok());
  const auto entries = model.entries(plan);
  const Folder folder;
  const auto save = [&](const char* name, auto write) {
    auto file = AtomicFile::create((folder / name).c_str());
    return file.has_value() && write(file->sink()).is_ok() && file->commit().is_ok();
  };
  ASSERT_TRUE(save("w.safetensors", [&](const ByteSink& sink) { return write_foreign(Format::Safetensors, {entries}, sink); }));
  ASSERT_TRUE(save("w.params", [&](const ByteSink& sink) { return write_foreign(Format::TvmParams, {entries}, sink); }));
  ASSERT_TRUE(save("w.tfw", [&](const ByteSink& sink) { return write_weights(plan, digests.span(), model.values.reader(), sink); }));
  Model other(false);
  const Array<Digest> other_digests = other.digests();
  ASSERT_TRUE(
      save("other.tfw", [&](const ByteSink& sink) { return write_weights(other.plan(), other_digests.span(), other.values.reader(), sink); }));
  for (const char* name : {"w.safetensors", "w.params", "w.tfw", "other.tfw"}) {
    auto file = ParamFile::open((folder / name).c_str());
    ASSERT_TRUE(file.has_value()) << file.error().message();
    auto bound = bind_parameters(plan, digests.span(), *file, {});
    ASSERT_TRUE(bound.has_value()) << name << ": " << bound.error().message();
    EXPECT_EQ(std::vector<uint8_t>(bound->data.begin(), bound->data.end()), expected) << name;
    EXPECT_EQ(bound->repacked_bytes, strcmp(name, "w.tfw") == 0 ? 0 : plan.data_bytes()) << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bound->data.data()) % 64, 0u);
    Array<uint8_t> scratch;
    const ParamSource source = file->source();
    for (size_t i = 0; i < source.entries.size(); ++i) {
      auto bytes = bytes_of(source, i, scratch);
      ASSERT_TRUE(bytes.has_value());
      EXPECT_EQ(std::vector<uint8_t>(bytes->begin(), bytes->end()), model.values.bytes[i]) << name;
    }
  }
}

TEST(Bind, UnalignedWeightsInMemoryAreCopied) {
  Model model;
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  auto bytes = model.weights();
  bytes.insert(bytes.begin(), 1);
  auto file = ParamFile::from_memory(std::span<const uint8_t>(bytes).subspan(1));
  ASSERT_TRUE(file.has_value()) << file.error().message();
  auto bound = bind_parameters(plan, digests.span(), *file, {});
  ASSERT_TRUE(bound.has_value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bound->data.data()) % 64, 0u);
}

TEST(Bind, NothingGivenNamesEveryParameter) {
  Model model;
  const Array<Digest> digests = model.digests();
  const Status status = check_parameters(model.plan(), digests.span(), ParamSource{}, {});
  EXPECT_EQ(status.code(), Code::MissingParam);
  EXPECT_TRUE(mentions(status, "'fc1.weight'") && mentions(status, "'fc1.bias'") && mentions(status, "'axes'")) << status.message();
}

TEST(Bind, AllFaultsStandInOneError) {
  Model model;
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  const int64_t turned[] = {6, 4};
  auto entries = model.entries(plan);
  entries[0].shape = turned;
  Status status = check_parameters(plan, digests.span(), ParamSource{entries}, {});
  EXPECT_EQ(status.code(), Code::ParamShapeMismatch);
  EXPECT_TRUE(mentions(status, "parameter 'fc1.weight' is float32[6,4], the model wants float32[4,6]")) << status.message();
  entries[1].dtype = DType::Int32;
  status = check_parameters(plan, digests.span(), ParamSource{entries}, {});
  EXPECT_EQ(status.code(), Code::ParamTypeMismatch);
  EXPECT_TRUE(mentions(status, "'fc1.bias' is int32[6]") && mentions(status, "'fc1.weight' is float32[6,4]")) << status.message();
  entries.push_back({"extra", DType::Int8});
  status = check_parameters(plan, digests.span(), ParamSource{entries}, {});
  EXPECT_EQ(status.code(), Code::UnknownParam);
  EXPECT_TRUE(mentions(status, "'extra'") && mentions(status, "'fc1.bias'")) << status.message();
  entries[2].name = "axis";
  status = check_parameters(plan, digests.span(), ParamSource{entries}, {});
  EXPECT_EQ(status.code(), Code::MissingParam);
  EXPECT_TRUE(mentions(status, "'axes'") && mentions(status, "'axis'") && mentions(status, "'extra'") && mentions(status, "'fc1.weight'"))
      << status.message();
}

TEST(Bind, OtherValuesNeedNewWeightsAndFrozenOnesNeedACompile) {
  Model model;
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  model.values.bytes[0][3] ^= 1;
  const auto changed = model.weights();
  auto file = ParamFile::from_memory(changed);
  ASSERT_TRUE(file.has_value());
  const auto entries = model.entries(plan);
  for (const bool is_stated : {true, false}) {
    const auto check = [&](bool new_weights) {
      return is_stated ? check_parameters(plan, digests.span(), *file, {new_weights})
                       : check_parameters(plan, digests.span(), ParamSource{entries}, {new_weights});
    };
    const Status status = check(false);
    EXPECT_EQ(status.code(), Code::ParamDigestMismatch);
    EXPECT_TRUE(mentions(status, "'fc1.weight'") && !mentions(status, "'fc1.bias'")) << status.message();
    EXPECT_TRUE(check(true).is_ok());
  }
  model.values.bytes[2][0] ^= 1;
  const Status frozen = check_parameters(plan, digests.span(), ParamSource{model.entries(plan)}, {true});
  EXPECT_EQ(frozen.code(), Code::ParamDigestMismatch);
  EXPECT_TRUE(mentions(frozen, "'axes'"));
  EXPECT_TRUE(strstr(frozen.remedy(), "compile") != nullptr);
  const auto refrozen = model.weights();
  auto frozen_file = ParamFile::from_memory(refrozen);
  ASSERT_TRUE(frozen_file.has_value());
  EXPECT_EQ(check_parameters(plan, digests.span(), *frozen_file, {true}).code(), Code::ParamDigestMismatch);
}

TEST(Bind, ValuesOfWeightsAreHashedOnRequest) {
  Model model;
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  auto bytes = model.weights();
  const auto check = [&](const BindOptions& options) {
    auto file = ParamFile::from_memory(bytes);
    EXPECT_TRUE(file.has_value());
    return check_parameters(plan, digests.span(), *file, options);
  };
  EXPECT_TRUE(check({.verify_values = true}).is_ok());
  bytes[weights_layout(plan).data_offset] ^= 1;  // under the digests as they were
  EXPECT_TRUE(check({}).is_ok());
  const Status changed = check({.verify_values = true});
  EXPECT_EQ(changed.code(), Code::ParamDigestMismatch);
  EXPECT_TRUE(mentions(changed, "digest ") && mentions(changed, ", expected ")) << changed.message();
  EXPECT_TRUE(check({.new_weights = true}).is_ok());
  const Status contradicting = check({.new_weights = true, .verify_values = true});
  EXPECT_EQ(contradicting.code(), Code::DigestMismatch);
  EXPECT_TRUE(mentions(contradicting, "the file states ")) << contradicting.message();
}

TEST(Bind, AnOverlayReplacesByName) {
  Model model;
  const StoragePlan plan = model.plan();
  std::vector<uint8_t> data(plan.data_bytes());
  ASSERT_TRUE(plan.fill_data(model.values.reader(), data).is_ok());
  auto current = StoredParameters::create(plan, data);
  ASSERT_TRUE(current.has_value());
  const int64_t six[] = {6};
  const std::vector<uint8_t> ones(24, 1);
  const ParamEntry upper[] = {{"fc1.bias", DType::Float32, six, 24, ones.data()}};
  auto overlay = Overlay::create(current->source(), {upper});
  ASSERT_TRUE(overlay.has_value());
  const Array<Digest> digests = model.digests();
  auto bound = bind_parameters(plan, digests.span(), overlay->source(), {true});
  ASSERT_TRUE(bound.has_value()) << bound.error().message();
  std::vector<uint8_t> back(24);
  ASSERT_TRUE(plan.restore_parameter(1, bound->data, back).is_ok());
  EXPECT_EQ(back, ones);
  back.resize(96);
  ASSERT_TRUE(plan.restore_parameter(0, bound->data, back).is_ok());
  EXPECT_EQ(back, model.values.bytes[0]);
}

TEST(WeightsFile, NamesEveryTruncationAndTrailingBytes) {
  Model model;
  auto bytes = model.weights();
  const auto code = [](std::span<const uint8_t> some) {
    auto file = ParamFile::from_memory(some);
    return file.has_value() ? Code::Ok : file.error().code();
  };
  EXPECT_EQ(code(bytes), Code::Ok);
  for (size_t length = 8; length < bytes.size(); ++length) ASSERT_EQ(code(std::span(bytes).first(length)), Code::Truncated) << length;
  bytes.push_back(0);
  EXPECT_EQ(code(bytes), Code::InvalidParams);
  bytes.pop_back();
  bytes[8] = 9;
  EXPECT_EQ(code(bytes), Code::FormatTooNew);
  bytes[8] = 0;
  EXPECT_EQ(code(bytes), Code::FormatTooOld);
}

TEST(WeightsFile, ChangedHeadersNeverCrash) {
  Model model;
  const auto good = model.weights();
  const StoragePlan plan = model.plan();
  const Array<Digest> digests = model.digests();
  for (size_t at = 0; at < 4096; ++at) {
    for (const uint8_t value : {uint8_t{0}, uint8_t{1}, uint8_t{0x40}, uint8_t{0xff}}) {
      auto bytes = good;
      bytes[at] = value;
      auto file = ParamFile::from_memory(bytes);
      if (file.has_value()) (void)bind_parameters(plan, digests.span(), *file, {true});
    }
  }
}

TEST(ParamFile, SaysWhichPathCannotBeRead) {
  const auto absent = ParamFile::open("/nonexistent/w.params");
  EXPECT_EQ(absent.error().code(), Code::Io);
  EXPECT_TRUE(mentions(absent.error(), "/nonexistent/w.params"));
  EXPECT_EQ(ParamFile::open("/tmp").error().code(), Code::Io);
  EXPECT_EQ(format_of_path("a.b/w.tfw").value(), Format::Weights);
  EXPECT_FALSE(format_of_path("w.npz").has_value());
}

}  // namespace
}  // namespace tiffin::params
