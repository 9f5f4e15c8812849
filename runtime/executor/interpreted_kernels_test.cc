// SPDX-License-Identifier: Apache-2.0
// A variant that is data: run, and refused where record and program do not agree.
#include "runtime/executor/interpreted_kernels.h"

#include <gtest/gtest.h>

#include <cstring>

#include "abi/kernel_ir.h"
#include "runtime/artifact/testing_artifact.h"
#include "runtime/executor/graph_executor.h"

namespace tiffin::runtime {
namespace {

using testing::Spec;

constexpr uint8_t kFloats = TIFFIN_DTYPE_FLOAT32, kIndex = TIFFIN_DTYPE_INT64;

// y[u] = x[u] * w[u] + c[u] for every unit u. Registers: 0 and 1 the range of units, 2 u, 3 to 5 float32.
std::vector<uint8_t> scale_add(uint8_t units = 4, uint8_t input_size = 4) {
  constexpr uint8_t output = TIFFIN_IR_OUTPUT << 5 | kFloats, stride = 2, u = 2;
  return {TIFFIN_IR_VERSION,
          0,
          units,
          0,
          4,
          kFloats,
          input_size,
          kFloats,
          4,
          kFloats,
          4,
          output,
          4,  // buffers
          6,
          0,
          kIndex,
          kIndex,
          kIndex,
          kFloats,
          kFloats,
          kFloats,  // registers
          TIFFIN_IR_FOR,
          u,
          0,
          1,
          1,  //
          TIFFIN_IR_LOAD,
          3,
          0,
          stride,
          0,
          1,
          u,
          2,  //
          TIFFIN_IR_LOAD,
          4,
          1,
          stride,
          0,
          1,
          u,
          2,  //
          TIFFIN_IR_LOAD,
          5,
          2,
          stride,
          0,
          1,
          u,
          2,  //
          TIFFIN_IR_FMA,
          3,
          3,
          4,
          5,  //
          TIFFIN_IR_STORE,
          3,
          3,
          stride,
          0,
          1,
          u,
          2,  //
          TIFFIN_IR_END,
          TIFFIN_IR_END};
}

Spec portable(const std::vector<uint8_t>& record) {
  Spec spec;
  spec.machine = 0;
  spec.file_machine = host_machine();
  spec.extra_kind = TIFFIN_SECTION_KERNEL_IR;
  spec.extra_bytes = record;
  spec.code_section = "novelty";
  spec.kernel_offset = 0;
  spec.kernel.assign(record.size(), 0);  // as long as the record
  return spec;
}

void expect_refusal(const Spec& spec, const char* reason) {
  const std::vector<uint8_t> file = testing::build(spec);
  auto module = Module::load(std::move(Source::from_memory(file).value()), {});
  ASSERT_FALSE(module.has_value()) << reason;
  EXPECT_EQ(module.error().code(), Code::NotAnArtifact);
  EXPECT_NE(strstr(module.error().message(), reason), nullptr) << module.error().message();
}

TEST(InterpretedKernels, RunWithoutTrustInCode) {
  const std::vector<uint8_t> file = testing::build(portable(scale_add()));
  auto module = Module::load(std::move(Source::from_memory(file).value()), {.trust = Trust::Data});
  ASSERT_TRUE(module.has_value()) << module.error().message();
  EXPECT_NE(strstr((*module)->report().fallback_texts[0], "interpreter"), nullptr);
  for (const int threads : {1, 3}) {
    auto executor = GraphExecutor::create(*module, "default", {threads});
    ASSERT_TRUE(executor.has_value()) << executor.error().message();
    const float x[] = {1, 1, 2, 2};
    memcpy((*executor)->fill_input(0).data(), x, sizeof(x));
    const Status ran = (*executor)->run();
    ASSERT_TRUE(ran.is_ok()) << ran.message();
    const auto* y = static_cast<const float*>((*executor)->output(0)->data);
    EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{11, 12, 16, 18}));
    GraphExecutor::destroy(*executor);
  }
}

TEST(InterpretedKernels, AgreeWithTheirSteps) {
  expect_refusal(portable(scale_add(5)), "its units are not those of its kernel");
  expect_refusal(portable(scale_add(4, 5)), "a buffer is shorter than its kernel says");
  Spec stored = portable(scale_add());
  stored.step_buffer = 1;
  expect_refusal(stored, "its kernel writes a buffer that is only read");
  Spec fewer = portable(scale_add());
  fewer.extra_bytes = fewer.kernel = {TIFFIN_IR_VERSION, 0, 4, 0, 0, 2, 0, kIndex, kIndex, TIFFIN_IR_END};
  expect_refusal(fewer, "has 0 parameters, the program says 4");
  expect_refusal(portable({1, 2, 3}), "kernel 'scale_add': the record of a kernel is damaged");
}

// An index that the record computes wrongly ends the run.
TEST(InterpretedKernels, DoNotLeaveTheirBuffers) {
  std::vector<uint8_t> record = scale_add();
  record[30] = 2;  // x[u + 1]
  const std::vector<uint8_t> file = testing::build(portable(record));
  auto module = Module::load(std::move(Source::from_memory(file).value()), {});
  ASSERT_TRUE(module.has_value()) << module.error().message();
  auto executor = GraphExecutor::create(*module, "default", {1});
  ASSERT_TRUE(executor.has_value());
  (void)(*executor)->fill_input(0);
  EXPECT_EQ((*executor)->run().code(), Code::NotAnArtifact);
  GraphExecutor::destroy(*executor);
}

}  // namespace
}  // namespace tiffin::runtime
