// SPDX-License-Identifier: Apache-2.0
// Kernels as data: the record of a kernel in a KERNEL_IR section, which the runtime checks and interprets. docs/architecture/portable_ir.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

// The record of a kernel that the verifier takes (verifier.h). Deterministic. Internal when the kernel is larger than a record can say.
Result<std::vector<uint8_t>> serialize_kernel(const Kernel& kernel);

}  // namespace tiffin::kernel
