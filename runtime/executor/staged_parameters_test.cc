// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/staged_parameters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/artifact/testing_artifact.h"
#include "runtime/executor/graph_executor.h"
#include "runtime/executor/parameter_sharing.h"

// y = x * w + 10, of graph_executor_test.cc.
extern "C" const uint8_t __start_tiffin_test_code[], __stop_tiffin_test_code[];

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define TIFFIN_COUNTS_ALLOCATIONS 1
// Counts what the calling thread allocates, by standing in front of the C library's functions.
namespace {
thread_local size_t allocations = 0;
}
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
}
#endif

namespace tiffin::runtime {
namespace {

using Fault = StagedParameters::Fault;

constexpr int64_t kShape[] = {4};

testing::Spec spec_with(std::vector<float> weights, bool is_embedded) {
  testing::Spec spec;
  spec.kernel.assign(__start_tiffin_test_code, __stop_tiffin_test_code);
  spec.weights = std::move(weights);
  spec.has_weights = is_embedded;
  return spec;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<uint8_t>& bytes) {
    const int descriptor = mkstemp(path_);
    EXPECT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(descriptor);
  }
  ~TemporaryFile() { unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/tiffin_staged_XXXXXX";
};

TemporaryFile weights_file(const std::vector<float>& values) {
  const testing::Spec spec = spec_with(values, true);
  return TemporaryFile(testing::weights_bytes(spec, testing::weight_digest(spec)));
}

struct Freed {
  void operator()(StagedParameters* staged) const { StagedParameters::destroy(staged); }
  void operator()(GraphExecutor* executor) const { GraphExecutor::destroy(executor); }
};
using Staged = std::unique_ptr<StagedParameters, Freed>;

Staged stage(const Ref<Module>& module, const TemporaryFile& file) {
  auto opened = params::ParamFile::open(file.path());
  EXPECT_TRUE(opened.has_value()) << opened.error().message();
  auto staged = StagedParameters::from_file(module, std::move(opened).value());
  EXPECT_TRUE(staged.has_value()) << staged.error().message();
  return Staged(staged.has_value() ? *staged : nullptr);
}

struct Value {
  const char* name;
  std::vector<float> values;
  std::vector<int64_t> shape = {4};
  DType dtype = DType::Float32;
};

Staged stage(const Ref<Module>& module, const std::vector<Value>& tensors) {
  std::vector<params::ParamEntry> entries;
  for (const Value& tensor : tensors) {
    params::ParamEntry entry;
    entry.name = tensor.name;
    entry.dtype = tensor.dtype;
    entry.shape = tensor.shape;
    entry.bytes = tensor.values.size() * sizeof(float);
    entry.data = reinterpret_cast<const uint8_t*>(tensor.values.data());
    entries.push_back(entry);
  }
  auto staged = StagedParameters::from_source(module, params::ParamSource{entries});
  EXPECT_TRUE(staged.has_value()) << staged.error().message();
  return Staged(staged.has_value() ? *staged : nullptr);
}

Staged stage_all(const Ref<Module>& module, float value) { return stage(module, {{"w", {value, value, value, value}}}); }

class StagedTest : public ::testing::Test {
 protected:
  Ref<Module> load(const std::vector<uint8_t>& file) {
    auto module = Module::load(std::move(Source::from_memory(file).value()), {});
    EXPECT_TRUE(module.has_value()) << module.error().message();
    return module.has_value() ? std::move(module).value() : Ref<Module>();
  }
  std::unique_ptr<GraphExecutor, Freed> executor(const Ref<Module>& module, int threads = 1) {
    auto created = GraphExecutor::create(module, "default", {threads});
    EXPECT_TRUE(created.has_value()) << created.error().message();
    static float ones[] = {1, 1, 1, 1};
    const DLTensor input{ones, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, const_cast<int64_t*>(kShape), nullptr, 0};
    EXPECT_TRUE((*created)->set_input(0, input).is_ok());
    return std::unique_ptr<GraphExecutor, Freed>(*created);
  }
  // The first output minus the bias; -1 if the elements differ.
  static float run(GraphExecutor& executor) {
    EXPECT_TRUE(executor.run().is_ok());
    const auto output = executor.output(0);
    const auto* y = static_cast<const float*>(output->data);
    return y[0] == y[1] && y[0] == y[2] && y[0] == y[3] ? y[0] - 10 : -1;
  }

  const std::vector<uint8_t> embedded_ = testing::build(spec_with({1, 1, 1, 1}, true));
  const std::vector<uint8_t> thin_ = testing::build(spec_with({1, 1, 1, 1}, false));
};

TEST_F(StagedTest, CommitChangesEveryExecutorWithoutItsOwnSet) {
  const Ref<Module> module = load(thin_);
  const auto early = executor(module), own = executor(module);
  EXPECT_EQ(module->parameter_sets().current_number(), 0u);
  EXPECT_EQ(early->run().code(), Code::MissingParam);
  const TemporaryFile two = weights_file({2, 2, 2, 2});
  const Staged staged = stage(module, two);
  EXPECT_EQ(staged->generation(), 1u);
  EXPECT_EQ(staged->report().repacked_bytes, 0u);  // used where it lies
  EXPECT_EQ(early->run().code(), Code::MissingParam);
  EXPECT_TRUE(staged->verify().is_ok());
  EXPECT_TRUE(staged->commit().is_ok());
  EXPECT_EQ(module->parameter_sets().current_number(), 1u);
  EXPECT_EQ(run(*early), 2);
  const float fours[] = {4, 4, 4, 4};
  params::ParamEntry entry{"w", DType::Float32, kShape, 16, reinterpret_cast<const uint8_t*>(fours)};
  EXPECT_TRUE(own->set_parameters(params::ParamSource{{&entry, 1}}, {.new_weights = true}).is_ok());
  EXPECT_TRUE(stage_all(module, 3)->commit().is_ok());
  EXPECT_EQ(run(*early), 3);
  EXPECT_EQ(run(*own), 4);
}

TEST_F(StagedTest, RollsBackToKeptGenerations) {
  const Ref<Module> module = load(embedded_);
  const auto reader = executor(module);
  EXPECT_EQ(module->parameter_sets().current_number(), 1u);
  EXPECT_EQ(run(*reader), 1);
  EXPECT_TRUE(stage_all(module, 2)->commit().is_ok());
  EXPECT_EQ(run(*reader), 2);
  EXPECT_TRUE(module->parameter_sets().rollback(1).is_ok());
  EXPECT_EQ(run(*reader), 1);
  EXPECT_EQ(module->parameter_sets().current_number(), 1u);
  EXPECT_TRUE(module->parameter_sets().rollback(2).is_ok());  // and forward again
  EXPECT_EQ(run(*reader), 2);
  EXPECT_TRUE(module->parameter_sets().rollback(2).is_ok());
  EXPECT_TRUE(stage_all(module, 3)->commit().is_ok());
  const Status stale = module->parameter_sets().rollback(1);
  EXPECT_EQ(stale.code(), Code::StaleGeneration);
  EXPECT_NE(std::string(stale.message()).find("2, 3"), std::string::npos) << stale.message();
  EXPECT_EQ(run(*reader), 3);
}

TEST_F(StagedTest, ListsFaultsAndRefusesByPrecedence) {
  const Ref<Module> module = load(embedded_);
  const auto reader = executor(module);
  const Staged all = stage(module, {{"v", {1, 1, 1, 1}}});
  EXPECT_STREQ(all->fault_name(Fault::Missing, 0), "w");
  EXPECT_STREQ(all->fault_name(Fault::Unexpected, 0), "v");
  EXPECT_EQ(all->fault_name(Fault::Unexpected, 1), nullptr);
  EXPECT_EQ(all->fault_count(Fault::Mismatched), 0u);
  EXPECT_EQ(all->verify().code(), Code::MissingParam);
  EXPECT_EQ(all->commit().code(), Code::MissingParam);
  EXPECT_EQ(stage(module, {{"w", {1, 1, 1, 1}}, {"v", {1}, {1}}})->commit().code(), Code::UnknownParam);
  const Staged shape = stage(module, {{"w", {1, 1, 1, 1}, {2, 2}}});
  EXPECT_EQ(shape->fault_count(Fault::Mismatched), 1u);
  EXPECT_EQ(shape->commit().code(), Code::ParamShapeMismatch);
  EXPECT_EQ(stage(module, {{"w", {1, 1, 1, 1}, {4}, DType::Int32}})->commit().code(), Code::ParamTypeMismatch);
  EXPECT_EQ(module->parameter_sets().current_number(), 1u);
  EXPECT_EQ(run(*reader), 1);
}

TEST_F(StagedTest, IsCommittedOnceOrLetGo) {
  const Ref<Module> module = load(embedded_);
  const Staged staged = stage_all(module, 2);
  EXPECT_TRUE(staged->commit().is_ok());
  EXPECT_EQ(staged->commit().code(), Code::InvalidArgument);
  staged->abort();
  EXPECT_TRUE(staged->verify().is_ok());
  const Staged other = stage_all(module, 3);
  other->abort();
  other->abort();
  EXPECT_EQ(other->commit().code(), Code::InvalidArgument);
  EXPECT_EQ(other->verify().code(), Code::InvalidArgument);
  EXPECT_EQ(module->parameter_sets().current_number(), 2u);
}

TEST_F(StagedTest, VerifyFindsAChangedValue) {
  const Ref<Module> module = load(thin_);
  testing::Spec spec = spec_with({2, 2, 2, 2}, true);
  std::vector<uint8_t> bytes = testing::weights_bytes(spec, testing::weight_digest(spec));
  uint64_t data_offset = 0;
  memcpy(&data_offset, bytes.data() + offsetof(tiffin_weights_header, data_offset), sizeof(data_offset));
  bytes[data_offset] ^= 1;
  const Staged staged = stage(module, TemporaryFile(bytes));
  EXPECT_EQ(staged->verify().code(), Code::DigestMismatch);
}

TEST_F(StagedTest, KeepsWhatARunUses) {
  const Ref<Module> module = load(embedded_);
  ParameterSets& sets = module->parameter_sets();
  EXPECT_TRUE(stage_all(module, 2)->commit().is_ok());
  GenerationUse use;
  sets.add_use(use);
  const Generation* began = sets.begin_run(use);
  for (const float value : {3.f, 4.f, 5.f}) EXPECT_TRUE(stage_all(module, value)->commit().is_ok());
  EXPECT_EQ(sets.alive_count(), 3u);  // current, previous, and the one in use
  EXPECT_EQ(began->number, 2u);
  EXPECT_EQ(reinterpret_cast<const float*>(began->set->data().data())[3], 2);
  ParameterSets::end_run(use);
  EXPECT_EQ(sets.alive_count(), 2u);
  sets.remove_use(use);
}

TEST_F(StagedTest, SwapsWhileThreadsRun) {
  constexpr int kSwaps = 1500;
  const Ref<Module> module = load(embedded_);
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0, backwards = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      const auto reader = executor(module, i == 2 ? 2 : 1);
      float last = 0;
      while (!is_over.load()) {
        const float seen = run(*reader);
        if (seen < 1 || seen > kSwaps + 1) ++wrong;
        if (seen < last) ++backwards;  // one committer counts upwards, so a reader never goes back
        last = seen;
      }
    });
  }
  for (int i = 2; i <= kSwaps + 1; ++i) EXPECT_TRUE(stage_all(module, static_cast<float>(i))->commit().is_ok());
  const auto last = executor(module);
  EXPECT_EQ(run(*last), kSwaps + 1);
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(backwards, 0);
  EXPECT_EQ(module->parameter_sets().alive_count(), 2u);
}

TEST_F(StagedTest, RunAllocatesNothingAcrossACommit) {
#ifdef TIFFIN_COUNTS_ALLOCATIONS
  const Ref<Module> module = load(embedded_);
  const auto reader = executor(module);
  run(*reader);
  for (int i = 2; i < 5; ++i) {
    EXPECT_TRUE(stage_all(module, static_cast<float>(i))->commit().is_ok());
    const size_t before = allocations;
    const Status done = reader->run();
    const size_t after = allocations;
    EXPECT_TRUE(done.is_ok());
    EXPECT_EQ(after, before);
    EXPECT_EQ(run(*reader), i);
  }
#else
  GTEST_SKIP() << "allocations are counted in plain builds";
#endif
}

TEST_F(StagedTest, SharesEqualContentBetweenModules) {
  const uint64_t before = measure_parameters().private_bytes;
  const Ref<Module> first = load(thin_), second = load(thin_);
  const Staged one = stage_all(first, 7);
  const uint64_t bytes = measure_parameters().private_bytes - before;
  EXPECT_GT(bytes, 0u);
  const Staged same = stage_all(second, 7);
  EXPECT_EQ(one->set().get(), same->set().get());
  EXPECT_EQ(measure_parameters().private_bytes - before, bytes);
  const Staged other = stage_all(second, 8);
  EXPECT_EQ(measure_parameters().private_bytes - before, 2 * bytes);
  EXPECT_EQ(measure_parameters().unique_bytes, measure_parameters().private_bytes + measure_parameters().shared_bytes);

  const TemporaryFile file = weights_file({9, 9, 9, 9});
  const uint64_t mapped_before = measure_parameters().shared_bytes;
  const Staged mapped = stage(first, file), again = stage(second, file);
  EXPECT_EQ(mapped->set().get(), again->set().get());
  EXPECT_EQ(measure_parameters().shared_bytes - mapped_before, bytes);
}

}  // namespace
}  // namespace tiffin::runtime
