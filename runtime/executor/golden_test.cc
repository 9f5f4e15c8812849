// SPDX-License-Identifier: Apache-2.0
// Golden cases of a hand-made artifact: y = x * w + c over four floats, with w = {1, 2, 3, 4} and c = 10.
#include "runtime/executor/golden.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "abi/golden.h"
#include "base/golden/compare.h"
#include "runtime/artifact/testing_artifact.h"
#include "runtime/executor/staged_parameters.h"

// Of graph_executor_test.cc.
extern "C" const uint8_t __start_tiffin_test_code[], __stop_tiffin_test_code[];

namespace tiffin::runtime {
namespace {

template <class T>
void append(std::vector<uint8_t>& bytes, const T& object) {
  const auto* first = reinterpret_cast<const uint8_t*>(&object);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

struct Floats {
  float values[4];
};

// One case: x = {1, 1, 1, 1} gives `expected`. The sketch is of step 0, buffer 3.
std::vector<uint8_t> golden_section(const Floats& expected, bool has_sketch = true) {
  std::vector<uint8_t> bytes;
  append(bytes, tiffin_golden_header{0, 1, 1, 1, has_sketch ? 1u : 0u, 0, 0});
  for (int i = 0; i < 2; ++i) append(bytes, tiffin_golden_tensor{TIFFIN_DTYPE_FLOAT32, 0, 16});
  append(bytes, tiffin_golden_tolerance{4, 1e-5, 1e-5});
  if (has_sketch) {
    append(bytes, tiffin_golden_variant{0, 1});
    tiffin_golden_sketch sketch{};
    golden::take_sketch(DType::Float32, {reinterpret_cast<const uint8_t*>(&expected), sizeof(expected)}, &sketch);
    sketch.buffer = 3;
    sketch.relative = sketch.absolute = 1e-5;
    append(bytes, sketch);
  }
  append(bytes, Floats{1, 1, 1, 1});
  append(bytes, expected);
  const uint64_t length = bytes.size();
  memcpy(bytes.data() + offsetof(tiffin_golden_header, total_length), &length, sizeof(length));
  return bytes;
}

testing::Spec spec_with(std::vector<uint8_t> section) {
  testing::Spec spec;
  spec.kernel.assign(__start_tiffin_test_code, __stop_tiffin_test_code);
  spec.extra_kind = TIFFIN_SECTION_GOLDEN;
  spec.extra_bytes = std::move(section);
  return spec;
}

Result<GoldenVerdict> run(const std::vector<uint8_t>& file) {
  auto module = Module::load(std::move(Source::from_memory(file).value()), {});
  if (!module.has_value()) return module.take_error();
  return run_golden_cases(*module, {}, {});
}

TEST(Golden, PassesWhereOutputsAreAsRecorded) {
  const auto verdict = run(testing::build(spec_with(golden_section({11, 12, 13, 14}))));
  ASSERT_TRUE(verdict.has_value()) << verdict.error().message();
  EXPECT_EQ(verdict->cases, 1u);
  EXPECT_EQ(verdict->passed, 1u);
  EXPECT_EQ(verdict->worst_ulp, 0);
  EXPECT_TRUE(verdict->failure.is_ok());
}

// A file whose digests hold, with another constant than the cases were recorded with.
TEST(Golden, NamesTheKernelThatDepartsWithAndWithoutSketches) {
  for (const bool has_sketch : {true, false}) {
    testing::Spec spec = spec_with(golden_section({11, 12, 13, 14}, has_sketch));
    spec.uniform = 10.5F;
    const auto verdict = run(testing::build(spec));
    ASSERT_TRUE(verdict.has_value()) << verdict.error().message();
    EXPECT_EQ(verdict->passed, 0u);
    EXPECT_EQ(verdict->failure.code(), Code::GoldenMismatch);
    EXPECT_NE(strstr(verdict->failure.message(), "the first kernel whose output departs is"), nullptr) << verdict->failure.message();
    EXPECT_GT(verdict->worst_ulp, 1000);
  }
}

TEST(Golden, ChecksTheSectionAgainstTheProgram) {
  const std::vector<uint8_t> right = golden_section({11, 12, 13, 14});
  for (const size_t word : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{8}, size_t{10}}) {
    std::vector<uint8_t> wrong = right;
    wrong[word * 4] ^= 3;
    const auto verdict = run(testing::build(spec_with(wrong)));
    ASSERT_FALSE(verdict.has_value()) << word;
    EXPECT_EQ(verdict.error().code(), Code::NotAnArtifact) << word;
  }
}

TEST(Golden, StagedParametersRunTheCases) {
  const std::vector<uint8_t> file = testing::build(spec_with(golden_section({11, 12, 13, 14})));
  auto module = Module::load(std::move(Source::from_memory(file).value()), {});
  ASSERT_TRUE(module.has_value()) << module.error().message();
  const int64_t shape[] = {4};
  for (const float last : {4.0F, 5.0F}) {
    const float weights[] = {1, 2, 3, last};
    params::ParamEntry entry;
    entry.name = "w";
    entry.dtype = DType::Float32;
    entry.shape = shape;
    entry.bytes = sizeof weights;
    entry.data = reinterpret_cast<const uint8_t*>(weights);
    auto staged = StagedParameters::from_source(*module, params::ParamSource{{&entry, 1}});
    ASSERT_TRUE(staged.has_value()) << staged.error().message();
    EXPECT_EQ((*staged)->verify().code(), last == 4 ? Code::Ok : Code::GoldenMismatch);
    StagedParameters::destroy(*staged);
  }
}

}  // namespace
}  // namespace tiffin::runtime
