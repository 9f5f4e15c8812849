// SPDX-License-Identifier: Apache-2.0
// The kernels of the tests as machine code.
#include <algorithm>
#include <cstdlib>

#include "compiler/codegen/llvm/kernel_sketch.h"
#include "compiler/codegen/llvm/loaded_blob.h"

namespace tiffin::codegen {

void expect_same_as_interpreter(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::string& words, uint64_t seed) {
  SCOPED_TRACE("target " + words + ", seed " + std::to_string(seed));
  Result<Target> target = parse_target(words);
  ASSERT_TRUE(target.has_value()) << target.error().message();
  std::vector<const Kernel*> pointers;
  for (const auto& kernel : kernels) {
    kernel->has_fma = target->machine.has_fma;
    pointers.push_back(kernel.get());
  }
  Result<CodeBlob> blob = compile_kernels(pointers, *target, {.threads = 2});
  ASSERT_TRUE(blob.has_value()) << blob.error().message();
  ASSERT_EQ(blob->functions.size(), kernels.size());
  if (!runs_here(words)) return;
  const LoadedBlob code(*blob);
  ASSERT_TRUE(code.is_ready());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, static_cast<size_t>(kernels[i]->scratch_bytes) + 64),
                                                              &std::free);
    const auto run = [&](void* const* buffers, int64_t begin, int64_t end) { return code.function(i)(buffers, scratch.get(), begin, end); };
    expect_same_as_interpreter(*kernels[i], run, seed + i);
  }
}

bool runs_here(const std::string& words) {
  const Result<Target> target = parse_target(words), host = parse_target("llvm");
  if (!target.has_value() || !host.has_value() || target->elf_machine != host->elf_machine) return false;
  return std::includes(host->features.begin(), host->features.end(), target->features.begin(), target->features.end());
}

}  // namespace tiffin::codegen
