// SPDX-License-Identifier: Apache-2.0
// The C API, through its C++ wrapper and directly: results, errors, versions of structures, and that running allocates nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>

#include "runtime/artifact/testing_artifact.h"
#include "runtime/capi/testing_file.h"
#include "runtime/include/tiffin/tiffin.h"

// y = x * w. Copied into artifacts as bytes, so it uses no constant that the compiler would put elsewhere.
extern "C" __attribute__((section("tiffin_capi_code"), noinline, optimize("O1"), no_sanitize("address", "undefined", "thread"), used)) int32_t
tiffin_capi_scale(void* const* buffers, void*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(buffers[3])[i] = static_cast<const float*>(buffers[0])[i] * static_cast<const float*>(buffers[1])[i];
  }
  return 0;
}
extern "C" const uint8_t __start_tiffin_capi_code[], __stop_tiffin_capi_code[];

#if !defined(__SANITIZE_ADDRESS__)
#define TIFFIN_COUNTS_ALLOCATIONS 1
namespace {
std::atomic<int> allocation_count{0};
}
extern "C" void* __libc_malloc(size_t);
extern "C" void* malloc(size_t bytes) {
  ++allocation_count;
  return __libc_malloc(bytes);
}
#endif

namespace tiffin::runtime {

std::vector<uint8_t> testing::scaling_file() {
  Spec spec;
  spec.kernel.assign(__start_tiffin_capi_code, __stop_tiffin_capi_code);
  return build(spec);
}

namespace {

// The code's name; the status is freed.
std::string code_of(tiffin_status* status) {
  std::string code = tiffin_status_code(status);
  if (status != nullptr) {
    EXPECT_STRNE(tiffin_status_message(status), "");
    EXPECT_STRNE(tiffin_status_remedy(status), "");
  }
  tiffin_status_free(status);
  return code;
}

int64_t kShape[] = {4};
DLTensor tensor(float* values) { return {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, kShape, nullptr, 0}; }

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(code_of(tiffin_module_load_memory(TIFFIN_ABI_VERSION, file_.data(), file_.size(), nullptr, &module_)), "Ok");
    ASSERT_EQ(code_of(tiffin_executor_create(module_, "default", nullptr, &executor_)), "Ok");
  }
  void TearDown() override {
    tiffin_module_free(module_);  // the executor keeps what it needs
    tiffin_executor_free(executor_);
  }
  std::vector<uint8_t> file_ = testing::scaling_file();
  tiffin_module* module_ = nullptr;
  tiffin_executor* executor_ = nullptr;
};

TEST_F(CApi, RunsAModel) {
  ASSERT_EQ(tiffin_module_function_count(module_), 1u);
  EXPECT_STREQ(tiffin_module_function_name(module_, 0), "default");
  EXPECT_EQ(tiffin_module_function_name(module_, 1), nullptr);
  size_t index = 9;
  EXPECT_EQ(code_of(tiffin_module_find_function(module_, "absent", &index)), "MissingFunction");
  EXPECT_EQ(code_of(tiffin_module_find_function(module_, "default", &index)), "Ok");
  EXPECT_EQ(index, 0u);
  tiffin_tensor_spec spec{};
  spec.struct_bytes = sizeof(spec);
  ASSERT_EQ(code_of(tiffin_executor_get_input_spec(executor_, 0, &spec)), "Ok");
  EXPECT_STREQ(spec.name, "data");
  EXPECT_STREQ(spec.dtype_name, "float32");
  EXPECT_EQ(spec.shape[0], 4);
  EXPECT_EQ(code_of(tiffin_executor_get_input_spec(executor_, 1, &spec)), "InvalidArgument");

  float x[] = {1, 2, 3, 4};
  const DLTensor input = tensor(x);
  EXPECT_EQ(code_of(tiffin_executor_run(executor_)), "UnsetInput");
  EXPECT_EQ(code_of(tiffin_executor_set_input_by_name(executor_, "date", &input)), "UnknownInput");
  EXPECT_EQ(code_of(tiffin_executor_set_input_by_name(executor_, "data", &input)), "Ok");
  EXPECT_EQ(code_of(tiffin_executor_run(executor_)), "Ok");
  DLTensor y{};
  ASSERT_EQ(code_of(tiffin_executor_get_output(executor_, 0, &y)), "Ok");
  EXPECT_EQ(static_cast<const float*>(y.data)[3], 16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(y.data) % 64, 0u);
}

TEST_F(CApi, GivesTheModelsOwnTensorsBack) {
  tiffin_params* params = nullptr;
  ASSERT_EQ(code_of(tiffin_executor_get_params(executor_, &params)), "Ok");
  ASSERT_EQ(tiffin_params_count(params), 1u);
  const char* name = nullptr;
  DLTensor value{};
  ASSERT_EQ(code_of(tiffin_params_get(params, 0, &name, &value)), "Ok");
  EXPECT_STREQ(name, "w");
  EXPECT_EQ(static_cast<const float*>(value.data)[2], 3);
  EXPECT_EQ(code_of(tiffin_params_get(params, 1, &name, &value)), "InvalidArgument");
  tiffin_params_free(params);

  float zeros[4] = {};
  const char* names[] = {"w"};
  const DLTensor tensors[] = {tensor(zeros)};
  EXPECT_EQ(code_of(tiffin_executor_set_params(executor_, names, tensors, 1, 0)), "ParamDigestMismatch");
  EXPECT_EQ(code_of(tiffin_executor_set_params(executor_, names, tensors, 1, 1)), "Ok");
  names[0] = "v";
  EXPECT_EQ(code_of(tiffin_executor_set_params(executor_, names, tensors, 1, 1)), "UnknownParam");
}

// "key=value" of each detail, and "key+=value" of those that are items of a list. The status is freed.
std::string details_of(tiffin_status* status) {
  std::string text;
  for (size_t i = 0; i < tiffin_status_detail_count(status); ++i) {
    const char *key = nullptr, *value = nullptr;
    int is_listed = -1;
    tiffin_status_detail(status, i, &key, &value, &is_listed);
    text += std::string(i == 0 ? "" : " ") + key + (is_listed != 0 ? "+=" : "=") + value;
  }
  tiffin_status_detail(status, tiffin_status_detail_count(status), nullptr, nullptr, nullptr);
  tiffin_status_free(status);
  return text;
}

TEST_F(CApi, SaysWhatProgramsWantToKnow) {
  float zeros[8] = {};
  const DLTensor input = tensor(zeros);
  EXPECT_EQ(details_of(tiffin_executor_set_input_by_name(executor_, "date", &input)), "nearest=data");
  EXPECT_EQ(details_of(tiffin_executor_run(executor_)), "inputs+=data");
  EXPECT_EQ(details_of(nullptr), "");
  const char* names[] = {"w", "u", "v"};
  DLTensor tensors[] = {input, input, input};
  EXPECT_EQ(details_of(tiffin_executor_set_params(executor_, names, tensors, 3, 1)), "unexpected+=u unexpected+=v");
  int64_t wide[] = {8};
  tensors[0].shape = wide;
  EXPECT_EQ(details_of(tiffin_executor_set_params(executor_, names, tensors, 3, 1)), "unexpected+=u unexpected+=v mismatched+=w");
  EXPECT_EQ(details_of(tiffin_executor_set_params(executor_, names, tensors + 1, 1, 0)), "mismatched+=w");  // by its values
}

TEST_F(CApi, RefusesOtherVersionsAndNullPointers) {
  tiffin_module* module = nullptr;
  EXPECT_EQ(code_of(tiffin_module_load_memory(TIFFIN_ABI_VERSION + 1, file_.data(), file_.size(), nullptr, &module)), "AbiMismatch");
  EXPECT_EQ(code_of(tiffin_module_load_file(TIFFIN_ABI_VERSION, nullptr, nullptr, &module)), "InvalidArgument");
  EXPECT_EQ(code_of(tiffin_module_load_file(TIFFIN_ABI_VERSION, "/absent.so", nullptr, &module)), "Io");
  EXPECT_EQ(code_of(tiffin_module_load_descriptor(TIFFIN_ABI_VERSION, -1, 0, 0, nullptr, &module)), "Io");
  EXPECT_EQ(code_of(tiffin_executor_create(nullptr, "default", nullptr, nullptr)), "InvalidArgument");
  EXPECT_EQ(code_of(tiffin_executor_run(nullptr)), "InvalidArgument");
  EXPECT_EQ(module, nullptr);
  tiffin_module_free(nullptr);
  tiffin_executor_free(nullptr);
  tiffin_params_free(nullptr);
  tiffin_status_free(nullptr);
}

TEST_F(CApi, WritesNoMoreThanTheCallersStructure) {
  tiffin_report report{};
  memset(static_cast<void*>(&report), 0x77, sizeof(report));
  report.struct_bytes = offsetof(tiffin_report, mapped_bytes);
  ASSERT_EQ(code_of(tiffin_module_get_report(module_, &report)), "Ok");
  EXPECT_STREQ(report.variant, "llvm -mcpu=generic");
  EXPECT_EQ(report.mapped_bytes, 0x7777777777777777u);
  report.struct_bytes = sizeof(report);
  ASSERT_EQ(code_of(tiffin_executor_get_report(executor_, &report)), "Ok");
  EXPECT_GE(report.fallback_count, 1u);  // the code is copied from memory, and the weights if malloc put them so
  EXPECT_GE(report.phase_count, 3u);
  ASSERT_EQ(report.variant_count, 1u);
  EXPECT_STREQ(report.variants[0].target, "llvm -mcpu=generic");
  EXPECT_STREQ(report.variants[0].reason, "");
}

#if defined(TIFFIN_COUNTS_ALLOCATIONS)
TEST_F(CApi, AllocatesNothingToRun) {
  const tiffin_executor_options options{sizeof(options), 2};
  tiffin_executor* threaded = nullptr;
  ASSERT_EQ(code_of(tiffin_executor_create(module_, "default", &options, &threaded)), "Ok");
  alignas(64) float x[] = {1, 2, 3, 4};
  const DLTensor input = tensor(x);
  for (tiffin_executor* executor : {executor_, threaded}) {
    ASSERT_EQ(code_of(tiffin_executor_set_input(executor, 0, &input)), "Ok");
    ASSERT_EQ(code_of(tiffin_executor_run(executor)), "Ok");
    const int before = allocation_count;
    bool is_ok = true;
    DLTensor y{};
    for (int i = 0; i < 50; ++i) {
      is_ok = is_ok && tiffin_executor_bind_input(executor, 0, &input) == nullptr && tiffin_executor_set_input(executor, 0, &input) == nullptr;
      is_ok = is_ok && tiffin_executor_run(executor) == nullptr && tiffin_executor_get_output(executor, 0, &y) == nullptr;
    }
    EXPECT_EQ(allocation_count - before, 0);
    EXPECT_TRUE(is_ok);
  }
  tiffin_executor_free(threaded);
}
#endif

}  // namespace
}  // namespace tiffin::runtime
