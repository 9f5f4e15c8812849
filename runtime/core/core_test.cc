// SPDX-License-Identifier: Apache-2.0
// The small runtime library: loads and runs an artifact, takes weights that are stored as the model wants them, declines the others.
#include <gtest/gtest.h>

#include <string>

#include "runtime/artifact/testing_artifact.h"
#include "runtime/include/tiffin/tiffin.h"

// y = x * w. Copied into artifacts as bytes, so it uses no constant that the compiler would put elsewhere.
extern "C" __attribute__((section("tiffin_core_code"), noinline, optimize("O1"), no_sanitize("address", "undefined", "thread"), used)) int32_t
tiffin_core_scale(void* const* buffers, void*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(buffers[3])[i] = static_cast<const float*>(buffers[0])[i] * static_cast<const float*>(buffers[1])[i];
  }
  return 0;
}
extern "C" const uint8_t __start_tiffin_core_code[], __stop_tiffin_core_code[];

namespace tiffin::runtime {
namespace {

testing::Spec spec(bool has_weights) {
  testing::Spec spec;
  spec.kernel.assign(__start_tiffin_core_code, __stop_tiffin_core_code);
  spec.has_weights = has_weights;
  return spec;
}

std::string code_of(tiffin_status* status) {
  std::string code = tiffin_status_code(status);
  tiffin_status_free(status);
  return code;
}

class Core : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(code_of(tiffin_module_load_memory(TIFFIN_ABI_VERSION, file_.data(), file_.size(), nullptr, &module_)), "Ok");
    ASSERT_EQ(code_of(tiffin_executor_create(module_, "default", nullptr, &executor_)), "Ok");
  }
  void TearDown() override {
    tiffin_executor_free(executor_);
    tiffin_module_free(module_);
  }
  std::vector<uint8_t> file_ = testing::build(spec(GetParam()));
  tiffin_module* module_ = nullptr;
  tiffin_executor* executor_ = nullptr;
};

TEST_P(Core, RunsWithWeightsInsideOrBeside) {
  alignas(64) float x[] = {1, 2, 3, 4};
  int64_t shape[] = {4};
  const DLTensor input{x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  ASSERT_EQ(code_of(tiffin_executor_set_input(executor_, 0, &input)), "Ok");
  if (!GetParam()) {
    EXPECT_EQ(code_of(tiffin_executor_run(executor_)), "MissingParam");
    const std::vector<uint8_t> weights = testing::weights_bytes(spec(true), testing::weight_digest(spec(true)));
    ASSERT_EQ(code_of(tiffin_executor_load_params_memory(executor_, weights.data(), weights.size(), 0)), "Ok");
  }
  ASSERT_EQ(code_of(tiffin_executor_run(executor_)), "Ok");
  DLTensor y{};
  ASSERT_EQ(code_of(tiffin_executor_get_output(executor_, 0, &y)), "Ok");
  EXPECT_EQ(static_cast<const float*>(y.data)[3], 16);
}

TEST_P(Core, DeclinesOtherFiles) {
  const std::string text = "no weights";
  EXPECT_EQ(code_of(tiffin_executor_load_params_memory(executor_, text.data(), text.size(), 0)), "InvalidParams");
  testing::Spec other = spec(true);
  other.weights[0] = 9;
  const std::vector<uint8_t> weights = testing::weights_bytes(other, testing::weight_digest(other));
  EXPECT_EQ(code_of(tiffin_executor_load_params_memory(executor_, weights.data(), weights.size(), 0)), "ParamDigestMismatch");
}

INSTANTIATE_TEST_SUITE_P(Weights, Core, ::testing::Bool());

}  // namespace
}  // namespace tiffin::runtime
