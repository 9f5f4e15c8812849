// SPDX-License-Identifier: Apache-2.0
// Removes operators that compute nothing and joins movements that follow each other. Results keep every bit.
//
//   y = Transpose(Transpose(x, perm=[0,2,3,1]), perm=[0,3,1,2])  ->  x
//   y = Cast(Cast(x: float32, to=float64), to=float32)           ->  x
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Precondition: decompose_operators ran. Values of Constants are used, those of Parameters never.
Status simplify_graph(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
