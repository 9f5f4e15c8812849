// SPDX-License-Identifier: Apache-2.0
// The kernels of a variant that is data: all records checked and ready to be interpreted.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/artifact/artifact.h"
#include "runtime/device/cpu/worker_pool.h"

namespace tiffin::runtime {

class InterpretedKernels {
 public:
  // Reads and checks all records of a variant without machine, and that its steps give them the buffers that they were checked for.
  // NotAnArtifact, OutOfMemory. What it allocates lies in `arena`.
  static Result<InterpretedKernels> load(const Artifact& artifact, const abi::Variant& variant, Arena& arena);

  // The kernel of that number, as work without buffers and units.
  Work work(uint32_t kernel) const { return {.interpret = run_, .kernel = kernels_[kernel]}; }
  // What each thread needs at least.
  uint64_t scratch_bytes() const { return scratch_bytes_; }
  // Of the section they were read from.
  uint64_t section_bytes() const { return section_bytes_; }

 private:
  const void** kernels_ = nullptr;
  decltype(Work::interpret) run_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  uint64_t section_bytes_ = 0;
};

}  // namespace tiffin::runtime
