// SPDX-License-Identifier: Apache-2.0
// Moves Reshapes behind elementwise operators, so that these follow what they fuse with.
//
//   y = Relu(Add(Reshape(Conv(x, w), [1,C,L]), bias))  ->  y = Reshape(Relu(Add(Conv(x, w), Reshape(bias))), [1,C,L])
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Only a Reshape that nothing else reads, of a computed value. The other operands have to broadcast alike in both shapes. Results keep every bit.
Status sink_reshapes(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
