// SPDX-License-Identifier: Apache-2.0
// The kernels that are built from register tiles. Each computes its node as the heavy root of a group, elementwise consumers included.
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

// True when the node's types, operands and attributes are ones that the tiles compute; then emit_… may be called on the prepared group.
bool has_matmul_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_matmul_tiles(Lowering& lowering, const graph::Node& node);

bool has_convolution_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_convolution_tiles(Lowering& lowering, const graph::Node& node);

bool has_depthwise_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_depthwise_tiles(Lowering& lowering, const graph::Node& node);

}  // namespace tiffin::kernel
