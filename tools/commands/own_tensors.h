// SPDX-License-Identifier: Apache-2.0
// The stored tensors that one variant alone reads: what it adds to the weights, which all variants share.
#pragma once

#include "runtime/artifact/artifact.h"
#include "tools/commands/fixed_list.h"

namespace tiffin::tools {

struct OwnTensors {
  size_t count = 0;
  uint64_t bytes = 0;
};

// One for each variant, in their order; nothing is a variant's own where there is no other. OutOfMemory.
Result<FixedList<OwnTensors>> find_own_tensors(const runtime::Artifact& artifact);

}  // namespace tiffin::tools
