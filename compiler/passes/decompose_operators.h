// SPDX-License-Identifier: Apache-2.0
// Rewrites composite operators into primitives, so that kernels know a small set; docs/architecture/operators.md is the table.
//
//   y = HardSwish(x)  ->  y = Mul(x, HardSigmoid(x, alpha=1/6, beta=1/2))
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Precondition: fold_constants ran, so that types are inferred. An operator in a form that cannot be expressed (open shape, training mode) stays
// as it is, for lowering to decline. New nodes are named "<name>/<part>" and have their types inferred.
Status decompose_operators(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
