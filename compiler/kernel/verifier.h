// SPDX-License-Identifier: Apache-2.0
// The rules of kernel IR that back ends rely on. They are numbered in docs/architecture/kernel_ir.md; messages carry the number.
#pragma once

#include "base/status.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

inline constexpr int kMaxLanes = 64;
inline constexpr int64_t kMaxLocalBytes = 32 * 1024;  // of all local buffers together: they may lie on a small stack

// Internal, naming kernel, rule and expression, when a kernel breaks a rule; UnsupportedType for element types that kernels do not know.
// Whether accesses stay inside their buffers is not checked here: the interpreter does that.
Status verify(const Kernel& kernel);

}  // namespace tiffin::kernel
