// SPDX-License-Identifier: Apache-2.0
// How much memory this process may still take.
#pragma once

#include <cstdint>

namespace tiffin::tools {

struct MemoryLimits {
  uint64_t memory;         // private pages: what the system could free, and swap; the least of the control groups' limits
  uint64_t address_space;  // private and mapped pages together: RLIMIT_AS less what is in use; UINT64_MAX without a limit
};

// Reads /proc and /sys; what is not there sets no limit, and the size of the machine's memory takes the place of what could be freed.
MemoryLimits memory_limits();

}  // namespace tiffin::tools
