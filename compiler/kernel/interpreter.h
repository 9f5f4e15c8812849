// SPDX-License-Identifier: Apache-2.0
// Runs a Kernel on the host, one lane at a time: the oracle that compiled code is compared with, bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

// Computes the units [unit_begin, unit_end) of a verified kernel. `buffers`: one per parameter, each as long as the parameter says. Internal
// when an access leaves its buffer; the kernel's failure (IndexOutOfRange) when it executes Fail.
Status interpret(const Kernel& kernel, std::span<void* const> buffers, int64_t unit_begin, int64_t unit_end);

}  // namespace tiffin::kernel
