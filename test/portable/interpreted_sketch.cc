// SPDX-License-Identifier: Apache-2.0
// The kernels with which code generation is tested, run as data: the other definition of what kernel_sketch.h leaves open.
#include "compiler/codegen/llvm/kernel_sketch.h"
#include "test/portable/run_record.h"

namespace tiffin::codegen {

// With and without FMA, whatever the words say.
void expect_same_as_interpreter(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::string& words, uint64_t seed) {
  SCOPED_TRACE("as data, seed " + std::to_string(seed));
  for (size_t i = 0; i < kernels.size(); ++i) {
    Kernel& kernel = *kernels[i];
    kernel.has_fma = words.find("v2") == std::string::npos;
    const auto run = [&](void* const* buffers, int64_t begin, int64_t end) {
      int32_t status = 0;
      const Status ran = portable::run_as_data(kernel, {buffers, kernel.parameters().size()}, begin, end, &status);
      EXPECT_TRUE(ran.is_ok()) << kernel.name << ": " << ran.message();
      return status;
    };
    expect_same_as_interpreter(kernel, run, seed + i);
    if (testing::Test::HasFailure()) return;
  }
}

bool runs_here(const std::string&) { return false; }

}  // namespace tiffin::codegen
