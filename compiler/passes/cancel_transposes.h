// SPDX-License-Identifier: Apache-2.0
// Computes connected elementwise operators in another order of axes where that leaves less to transpose: the NHWC islands between the
// convolutions of models that were converted from TensorFlow disappear.
//
//   y = Transpose(Relu(Add(Transpose(x, perm=[0,2,3,1]), b)), perm=[0,3,1,2])  ->  y = Relu(Add(x, Reshape(b)))
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Pad, Concat, Slice and reductions that keep their dimensions take part: their axes are renamed. Precondition: simplify_graph ran.
Status cancel_transposes(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
