// SPDX-License-Identifier: Apache-2.0
// The generic loop nest: computes results defined by their elements, over all their indices. docs/architecture/kernels.md.
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

// Emits the kernel body that stores all outputs of the group, and sets units and grain. Outputs of one shape share a nest; the nests of different
// shapes have consecutive ranges of units.
void emit_nests(Lowering& lowering);

}  // namespace tiffin::kernel
