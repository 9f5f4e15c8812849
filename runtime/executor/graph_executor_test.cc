// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/graph_executor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "runtime/artifact/testing_artifact.h"

// y = x * w + c; a bit pattern among the inputs stands for an index out of range. Copied into artifacts as bytes, so it uses no constant that
// the compiler would put elsewhere.
extern "C" __attribute__((section("tiffin_test_code"), noinline, optimize("O1"), no_sanitize("address", "undefined", "thread"), used)) int32_t
tiffin_test_scale_add(void* const* buffers, void* scratch, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(buffers[0]);
  const auto* w = static_cast<const float*>(buffers[1]);
  const auto* c = static_cast<const float*>(buffers[2]);
  auto* y = static_cast<float*>(buffers[3]);
  *static_cast<int64_t*>(scratch) = begin;
  for (int64_t i = begin; i < end; ++i) {
    if (reinterpret_cast<const int32_t*>(x)[i] == 0x7FC12345) return TIFFIN_KERNEL_INDEX_OUT_OF_RANGE;
    y[i] = x[i] * w[i] + c[i];
  }
  return TIFFIN_KERNEL_OK;
}
extern "C" const uint8_t __start_tiffin_test_code[], __stop_tiffin_test_code[];

namespace tiffin::runtime {
namespace {

using testing::Spec;

Spec runnable_spec() {
  Spec spec;
  spec.kernel.assign(__start_tiffin_test_code, __stop_tiffin_test_code);
  return spec;
}

Ref<Module> load(const std::vector<uint8_t>& file, const LoadOptions& options = {}) {
  auto module = Module::load(std::move(Source::from_memory(file).value()), options);
  EXPECT_TRUE(module.has_value()) << module.error().message();
  return module.has_value() ? std::move(module).value() : Ref<Module>();
}

struct Executor {
  explicit Executor(const Ref<Module>& module, int threads = 1) {
    auto created = GraphExecutor::create(module, "default", {threads});
    EXPECT_TRUE(created.has_value()) << created.error().message();
    if (created.has_value()) executor = *created;
  }
  ~Executor() { GraphExecutor::destroy(executor); }
  GraphExecutor* operator->() const { return executor; }
  std::vector<float> output() const {
    const DLTensor y = executor->output(0).value();
    return {static_cast<const float*>(y.data), static_cast<const float*>(y.data) + 4};
  }
  GraphExecutor* executor = nullptr;
};

int64_t kShape[] = {4};

DLTensor tensor(float* values, int64_t* shape = kShape) { return {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}; }

TEST(GraphExecutor, RunsFromMemoryAndFromAnyOffsetOfAFile) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  float x[] = {1, 1, 2, 2};
  const std::vector<float> expected = {11, 12, 16, 18};
  {
    Executor executor(load(file));
    EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
    EXPECT_TRUE(executor->run().is_ok());
    EXPECT_EQ(executor.output(), expected);
    EXPECT_STREQ(executor->report().fallback_texts[0], "the code is copied: the artifact is in memory");
  }
  for (const size_t offset : {size_t{0}, size_t{4096}, size_t{64}, size_t{13}}) {
    FILE* stream = tmpfile();
    ASSERT_NE(stream, nullptr);
    const std::vector<uint8_t> before(offset + 1, 0xEE);
    ASSERT_EQ(fwrite(before.data(), 1, offset, stream) + fwrite(file.data(), 1, file.size(), stream) + fwrite("tail", 1, 4, stream),
              offset + file.size() + 4);
    fflush(stream);
    auto source = Source::from_descriptor(fileno(stream), offset, file.size());
    fclose(stream);
    ASSERT_TRUE(source.has_value()) << source.error().message();
    auto module = Module::load(std::move(source).value(), {});
    ASSERT_TRUE(module.has_value()) << module.error().message();
    EXPECT_EQ((*module)->report().fallback_count == 0, offset % 4096 == 0) << offset;
    Executor executor(*module);
    EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
    EXPECT_TRUE(executor->run().is_ok());
    EXPECT_EQ(executor.output(), expected) << offset;
  }
}

TEST(GraphExecutor, LoadsAFileWhoseSegmentsMoved) {
  Spec spec = runnable_spec();
  spec.code_shift = 2 * testing::kPage;
  float x[] = {0, 0, 0, 1};
  const std::vector<uint8_t> file = testing::build(spec);  // borrowed by the module
  Executor executor(load(file));
  EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{10, 10, 10, 14}));
}

TEST(GraphExecutor, NamesWhatIsWrongWithInputs) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  Executor executor(load(file));
  const Status unset = executor->run();
  EXPECT_EQ(unset.code(), Code::UnsetInput);
  EXPECT_STREQ(unset.message(), "inputs without a value: 'data'");
  auto found = executor->find_input("date");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code(), Code::UnknownInput);
  EXPECT_STREQ(found.error().remedy(), "did you mean 'data'?");

  float x[5] = {};
  int64_t five[] = {5};
  const Status shape = executor->set_input(0, tensor(x, five));
  EXPECT_EQ(shape.code(), Code::ShapeMismatch);
  EXPECT_STREQ(shape.message(), "input 'data' has shape [5], expected is [4]");
  DLTensor wide = tensor(x);
  wide.dtype.bits = 64;
  const Status type = executor->set_input(0, wide);
  EXPECT_EQ(type.code(), Code::TypeMismatch);
  EXPECT_STREQ(type.message(), "input 'data' is float64, expected is float32");
  DLTensor scalar = tensor(x);
  scalar.ndim = 0;
  EXPECT_EQ(executor->set_input(0, scalar).code(), Code::ShapeMismatch);
  DLTensor elsewhere = tensor(x);
  elsewhere.device.device_type = kDLCUDA;
  EXPECT_EQ(executor->set_input(0, elsewhere).code(), Code::DeviceUnavailable);
  EXPECT_EQ(executor->set_input(0, tensor(nullptr)).code(), Code::InvalidArgument);
  EXPECT_EQ(executor->output(0).error().code(), Code::InvalidArgument);
}

TEST(GraphExecutor, ReadsStridedInputs) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  Executor executor(load(file));
  float x[] = {1, 0, 2, 0, 3, 0, 4};
  int64_t forwards[] = {2}, backwards[] = {-2}, still[] = {0};
  DLTensor strided = tensor(x);
  strided.strides = forwards;
  EXPECT_TRUE(executor->set_input(0, strided).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{11, 14, 19, 26}));
  strided.strides = backwards;
  strided.byte_offset = 24;
  EXPECT_TRUE(executor->set_input(0, strided).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{14, 16, 16, 14}));
  strided.strides = still;
  EXPECT_TRUE(executor->set_input(0, strided).is_ok());
  EXPECT_EQ(executor->bind_input(0, strided).code(), Code::InvalidArgument);
}

TEST(GraphExecutor, BindsMemoryOfTheCaller) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  Executor executor(load(file));
  alignas(64) float x[8] = {1, 2, 3, 4}, y[4] = {};
  EXPECT_TRUE(executor->bind_input(0, tensor(x)).is_ok());
  EXPECT_TRUE(executor->bind_output(0, tensor(y)).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(y[3], 26);
  x[3] = 0;
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(y[3], 10);
  EXPECT_EQ(executor->output(0)->data, y);
  EXPECT_EQ(executor->bind_input(0, tensor(x + 1)).code(), Code::InvalidArgument);
  float other[] = {5, 5, 5, 5};
  EXPECT_TRUE(executor->set_input(0, tensor(other)).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(y[0], 15);
  EXPECT_EQ(x[0], 1);
}

TEST(GraphExecutor, NamesTheNodeOfAnIndexOutOfRange) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  for (const int threads : {1, 3}) {
    Executor executor(load(file), threads);
    float x[] = {0, 0, 0, 0};
    const int32_t mark = 0x7FC12345;
    memcpy(&x[3], &mark, sizeof(mark));
    EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
    const Status status = executor->run();
    EXPECT_EQ(status.code(), Code::IndexOutOfRange);
    EXPECT_NE(std::string(status.message()).find("mul_1, add_2"), std::string::npos);
  }
}

TEST(GraphExecutor, GivesTheSameBitsForEveryNumberOfThreads) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  const Ref<Module> module = load(file);
  float x[] = {0.1F, -0.2F, 1e30F, -0.0F};
  std::vector<float> expected;
  for (const int threads : {1, 2, 3, 4, 7}) {
    Executor executor(module, threads);
    EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(executor->run().is_ok());
    if (expected.empty()) expected = executor.output();
    EXPECT_EQ(executor.output(), expected);
    EXPECT_EQ(executor->thread_count(), threads);
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      Executor executor(module, 2);
      EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
      for (int run = 0; run < 100; ++run) EXPECT_TRUE(executor->run().is_ok());
      EXPECT_EQ(executor.output(), expected);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(GraphExecutor, TakesParametersFromADictionary) {
  Spec spec = runnable_spec();
  spec.has_weights = false;
  const std::vector<uint8_t> thin = testing::build(spec);
  const Ref<Module> module = load(thin);
  EXPECT_FALSE(module->parameters());
  Executor executor(module);
  float x[] = {1, 1, 1, 1};
  EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
  const Status missing = executor->run();
  EXPECT_EQ(missing.code(), Code::MissingParam);
  EXPECT_NE(std::string(missing.message()).find("'w'"), std::string::npos);

  const auto give = [&](std::vector<float> values, bool new_weights) {
    params::ParamEntry entry;
    entry.name = "w";
    entry.dtype = DType::Float32;
    entry.shape = kShape;
    entry.bytes = 16;
    entry.data = reinterpret_cast<const uint8_t*>(values.data());
    return executor->set_parameters(params::ParamSource{{&entry, 1}}, {new_weights});
  };
  EXPECT_EQ(executor->set_parameters(params::ParamSource{}, {}).code(), Code::MissingParam);
  EXPECT_EQ(give({4, 3, 2, 1}, false).code(), Code::ParamDigestMismatch);
  EXPECT_TRUE(give({1, 2, 3, 4}, false).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{11, 12, 13, 14}));
  EXPECT_TRUE(give({4, 3, 2, 1}, true).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{14, 13, 12, 11}));
  EXPECT_TRUE(executor->set_parameters(params::ParamSource{}, {}).is_ok());  // nothing replaced
  EXPECT_EQ(executor->report().repacked_bytes > 0, true);
}

TEST(GraphExecutor, TakesParametersFromATfwWithoutACopy) {
  Spec spec = runnable_spec();
  spec.has_weights = false;
  const std::vector<uint8_t> thin = testing::build(spec);
  const std::vector<uint8_t> weights = testing::weights_bytes(spec, testing::weight_digest(spec));
  Executor executor(load(thin));
  auto* aligned = static_cast<uint8_t*>(aligned_alloc(4096, (weights.size() + 4095) / 4096 * 4096));
  memcpy(aligned, weights.data(), weights.size());
  auto file = params::ParamFile::from_memory({aligned, weights.size()});
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_TRUE(executor->load_parameters(std::move(file).value(), {}).is_ok());
  float x[] = {1, 1, 1, 1};
  EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
  EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor.output(), (std::vector<float>{11, 12, 13, 14}));
  EXPECT_EQ(executor->report().repacked_bytes, 0u);
  free(aligned);
}

TEST(GraphExecutor, HashesATfwWhereAllIsVerified) {
  Spec spec = runnable_spec();
  spec.has_weights = false;
  const std::vector<uint8_t> thin = testing::build(spec);
  const Digest stated = testing::weight_digest(spec);
  spec.weights[2] = 7;
  const std::vector<uint8_t> changed = testing::weights_bytes(spec, stated);
  const auto load_with = [&](VerifyLevel level, bool new_weights) {
    LoadOptions options;
    options.verify = level;
    auto module = Module::load(std::move(Source::from_memory(thin).value()), options);
    EXPECT_TRUE(module.has_value());
    Executor executor(std::move(*module));
    return executor->load_parameters(std::move(params::ParamFile::from_memory(changed).value()), {.new_weights = new_weights}).code();
  };
  EXPECT_EQ(load_with(VerifyLevel::Code, false), Code::Ok);
  EXPECT_EQ(load_with(VerifyLevel::All, false), Code::ParamDigestMismatch);
  EXPECT_EQ(load_with(VerifyLevel::All, true), Code::DigestMismatch);
}

TEST(GraphExecutor, ProfilesSteps) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  Executor executor(load(file));
  float x[] = {1, 1, 1, 1};
  EXPECT_TRUE(executor->set_input(0, tensor(x)).is_ok());
  executor->set_profiling(true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(executor->run().is_ok());
  EXPECT_EQ(executor->profiled_runs(), 3u);
  ASSERT_EQ(executor->step_count(), 1u);
  EXPECT_STREQ(executor->step_profile(0).label, "mul_1, add_2");
  EXPECT_STREQ(executor->step_profile(0).kernel, "scale_add");
}

TEST(GraphExecutor, RefusesWhatItCannotBe) {
  const std::vector<uint8_t> file = testing::build(runnable_spec());
  const Ref<Module> module = load(file);
  auto absent = GraphExecutor::create(module, "absent", {});
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code(), Code::MissingFunction);
  EXPECT_NE(std::string(absent.error().message()).find("'default'"), std::string::npos);
  EXPECT_EQ(GraphExecutor::create(module, "default", {-1}).error().code(), Code::InvalidArgument);
  LoadOptions strict;
  strict.strict = true;
  EXPECT_EQ(Module::load(std::move(Source::from_memory(file).value()), strict).error().code(), Code::Strict);
}

}  // namespace
}  // namespace tiffin::runtime
