// SPDX-License-Identifier: Apache-2.0
// Finds the gate of hard swish written out and makes it one operator; the division vanishes.
//
//   y = x * Clip(x + 3, 0, 6) / 6  ->  y = x * HardSigmoid(x, alpha=1/6, beta=1/2)
//   g = Clip(x + 3, 0, 6) / 6      ->  g = HardSigmoid(x, alpha=1/6, beta=1/2)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Scalar Parameters that are numbers of the formula are frozen.
Status recognise_hard_swish(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
