// SPDX-License-Identifier: Apache-2.0
// Golden cases: inputs and outputs that travel with an artifact, run here and compared. docs/architecture/golden_cases.md.
#pragma once

#include <cstdint>

#include "runtime/executor/graph_executor.h"

namespace tiffin::runtime {

struct GoldenVerdict {
  uint64_t cases = 0, passed = 0;
  double worst_ulp = 0;                    // of all elements compared (base/golden/compare.h)
  const char* first_bad_kernel = nullptr;  // of the first case that failed; the artifact's, as long as the module lives
  Status failure;                          // of that case: GoldenMismatch; a success when all passed
};

// How many cases the artifact holds, by the first bytes of their section; nothing else of it is checked. Io.
Result<uint64_t> golden_case_count(const Container& container);

// Runs every case with the module's variant, on `parameters` or, if that is null, on the module's own. The outputs of the first case that fails are
// traced: its steps run once more, one by one, until a buffer departs from its sketch; the kernel that wrote it is the first bad one. Where no sketch
// departs, or the variant has none, it is the kernel that writes the output that differs. A kernel that fails is a failed case.
// NotAnArtifact for a section that is malformed or does not fit the program; MissingParam, OutOfMemory, Io.
Result<GoldenVerdict> run_golden_cases(const Ref<Module>& module, Ref<ParameterSet> parameters, const ExecutorOptions& options);

}  // namespace tiffin::runtime
