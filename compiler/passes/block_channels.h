// SPDX-License-Identifier: Apache-2.0
// Keeps the activations of two-dimensional convolutions in blocks of channels, [N, C/b, H, W, b], through whole chains of operators; plain values are
// made only where an operator needs them. Blocked values are ordinary values of rank 5: elementwise operators, pools, Concat, Slice and Resize
// work on them as they are. docs/architecture/layouts.md.
//
//   y = Relu(Conv(x, w, bias))  ->  y' = Relu(Add(BlockedConv(x', PackPanels(w')), bias'))    with x' blocked
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

Status block_channels(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
