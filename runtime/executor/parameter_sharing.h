// SPDX-License-Identifier: Apache-2.0
// Parameter sets of all modules of a process: equal content is kept once, and what all of them take can be asked. The list of sets is the runtime's
// only state that no object owns, since models that know nothing of each other share through it.
#pragma once

#include <cstdint>

#include "base/digest.h"
#include "runtime/executor/parameter_set.h"

namespace tiffin::runtime {

// Enters a finished set into the list. If there is one of equal content already, that one is given instead and `set` is dropped. Content is equal by
// the digests of plan and parameters, and trusted where values were hashed when the set was made, or lie at the same place of the same file.
Ref<ParameterSet> share_content(Ref<ParameterSet> set, const Digest& plan);
// Called when a set is destroyed.
void forget_content(ParameterSet& set);

struct MemoryUse {
  size_t set_count = 0;
  uint64_t unique_bytes = 0;   // if no content were stored twice
  uint64_t shared_bytes = 0;   // pages of files, or the caller's memory
  uint64_t private_bytes = 0;  // of this process alone
};
// Each byte counts once, however many modules and executors use its set.
MemoryUse measure_parameters();

}  // namespace tiffin::runtime
