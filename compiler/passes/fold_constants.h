// SPDX-License-Identifier: Apache-2.0
// Evaluates at compile time what depends on no input: Shape(x) of a static x, arithmetic on shapes, operators on constants.
//
//   shape = Shape(x: float32[2,3,4])  ->  constant [2,3,4]
//   y = Reshape(x, Concat(Slice(shape, …), [-1]))  ->  y = Reshape(x, [2,-1])
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Infers every node's type in topological order and folds as it goes, so that shapes that depend on folded values become static; inlines an If
// whose condition becomes constant. A parameter is used as a constant only where its value shapes the program (operands of
// passes/frozen_operands.h, and integer arithmetic that leads to one); it is then marked frozen. Weights are never folded: a swap of parameters
// keeps its meaning. Erases dead nodes and constants, never parameters.
// Errors: those of inference and evaluation, with the node's name.
Status fold_constants(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
