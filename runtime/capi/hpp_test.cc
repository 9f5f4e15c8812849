// SPDX-License-Identifier: Apache-2.0
// The C++ header over the C API, seen as its users see it: no other header of Tiffin, so that no name of theirs is taken.
#include <gtest/gtest.h>

#include "runtime/capi/testing_file.h"
#include "tiffin/tiffin.hpp"

namespace {

const int64_t kShape[] = {4};

class Hpp : public ::testing::Test {
 protected:
  tiffin::Result<tiffin::Module> load() { return tiffin::Module::load(std::as_bytes(std::span<const uint8_t>(file_))); }

  std::vector<uint8_t> file_ = tiffin::runtime::testing::scaling_file();
};

TEST_F(Hpp, RunsAModel) {
  const auto module = load();
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(module->function_names(), std::vector<std::string>{"default"});
  auto executor = module->create_executor();
  ASSERT_TRUE(executor) << executor.error().message();
  const auto spec = executor->input_spec(0);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "data");
  EXPECT_EQ(spec->dtype, "float32");
  EXPECT_EQ(spec->shape, std::vector<int64_t>{4});
  const float x[] = {1, 2, 3, 4};
  EXPECT_TRUE(executor->set_input("data", tiffin::view<const float>(x, kShape)));
  EXPECT_TRUE(executor->run());
  const auto y = executor->output<float>(0);
  ASSERT_TRUE(y);
  EXPECT_EQ(y.value()[3], 16);
  EXPECT_TRUE(executor->output<int32_t>(0).value().empty());
}

TEST_F(Hpp, GivesParameters) {
  const auto module = load();
  ASSERT_TRUE(module);
  const auto params = module->params();
  ASSERT_TRUE(params);
  ASSERT_EQ(params->size(), 1u);
  EXPECT_EQ(params->get(0).value().name, "w");
  EXPECT_FALSE(params->get(1));
}

TEST_F(Hpp, MeasuresSteps) {
  const auto module = load();
  ASSERT_TRUE(module);
  auto executor = module->create_executor();
  ASSERT_TRUE(executor);
  const float x[4] = {};
  EXPECT_TRUE(executor->set_input(0, tiffin::view<const float>(x, kShape)));
  EXPECT_TRUE(executor->set_profiling(true));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(executor->run());
  const std::vector<tiffin_step_profile> steps = executor->profile();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].runs, 3u);
  EXPECT_NE(steps[0].label, nullptr);
  EXPECT_STREQ(executor->report().variant, module->report().variant);
}

TEST_F(Hpp, DeclinesParameterBytesOfNoKnownKind) {
  const auto module = load();
  ASSERT_TRUE(module);
  auto executor = module->create_executor();
  ASSERT_TRUE(executor);
  const std::byte bytes[64] = {};
  EXPECT_EQ(executor->load_params(bytes).error().code(), "InvalidParams");
  EXPECT_EQ(tiffin::Params::load(bytes).error().code(), "InvalidParams");
}

TEST_F(Hpp, ErrorsCarryCodeRemedyAndDetails) {
  using Details = std::vector<std::pair<std::string_view, std::string_view>>;
  const auto module = load();
  ASSERT_TRUE(module);
  auto executor = module->create_executor();
  ASSERT_TRUE(executor);
  const float x[4] = {};
  const DLTensor tensor = tiffin::view<const float>(x, kShape);
  const auto unknown = executor->set_input("date", tensor);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), "UnknownInput");
  EXPECT_EQ(unknown.error().remedy(), "did you mean 'data'?");
  EXPECT_EQ(unknown.error().details(), (Details{{"nearest", "data"}}));
  const auto unexpected = executor->set_params({{"u", tensor}, {"v", tensor}});
  ASSERT_FALSE(unexpected);
  EXPECT_EQ(unexpected.error().code(), "UnknownParam");
  EXPECT_EQ(unexpected.error().details(), (Details{{"unexpected", "u"}, {"unexpected", "v"}}));
  const auto absent = tiffin::Module::load("/absent.so");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), "Io");
  EXPECT_EQ(module->create_executor("absent").error().code(), "MissingFunction");
}

TEST_F(Hpp, ParametersChangeForTheWholeModule) {
  auto module = load();
  ASSERT_TRUE(module);
  auto executor = module->create_executor();
  ASSERT_TRUE(executor);
  const float x[] = {1, 1, 1, 1}, w[] = {5, 6, 7, 8};
  EXPECT_TRUE(executor->set_input(0, tiffin::view<const float>(x, kShape)));
  EXPECT_EQ(module->generation(), 1u);
  auto faulty = module->stage({{"v", tiffin::view<const float>(w, kShape)}});
  ASSERT_TRUE(faulty);
  EXPECT_EQ(faulty->missing(), std::vector<std::string>{"w"});
  EXPECT_EQ(faulty->unexpected(), std::vector<std::string>{"v"});
  EXPECT_TRUE(faulty->mismatched().empty());
  EXPECT_EQ(faulty->verify().error().code(), "MissingParam");
  EXPECT_EQ(faulty->commit().error().code(), "MissingParam");
  auto staged = module->stage({{"w", tiffin::view<const float>(w, kShape)}});
  ASSERT_TRUE(staged);
  EXPECT_TRUE(staged->verify());
  const uint64_t private_bytes = tiffin::report_memory().private_bytes;
  EXPECT_GT(private_bytes, 0u);
  EXPECT_TRUE(staged->commit());
  EXPECT_EQ(module->generation(), staged->generation());
  EXPECT_TRUE(executor->run());
  const float changed = executor->output<float>(0).value()[1];
  EXPECT_TRUE(module->rollback(1));
  EXPECT_TRUE(executor->run());
  EXPECT_EQ(changed - executor->output<float>(0).value()[1], 4);  // w was 2 there
  EXPECT_EQ(module->rollback(77).error().code(), "StaleGeneration");
  EXPECT_EQ(module->stage("/absent.tfw").error().code(), "Io");
}

TEST_F(Hpp, AnExecutorOutlivesItsModule) {
  std::optional<tiffin::Executor> executor;
  {
    const auto module = load();
    ASSERT_TRUE(module);
    auto made = module->create_executor("default", 2);
    ASSERT_TRUE(made);
    executor.emplace(std::move(made).value());
  }
  const float x[] = {4, 3, 2, 1};
  EXPECT_TRUE(executor->set_input(0, tiffin::view<const float>(x, kShape)));
  EXPECT_TRUE(executor->run());
  EXPECT_EQ(executor->output<float>(0).value()[1], 6);
}

}  // namespace
