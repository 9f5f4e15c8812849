// SPDX-License-Identifier: Apache-2.0
// Finds layer normalisation written out and makes it one operator.
//
//   d = x - ReduceMean(x), y = d / Sqrt(ReduceMean(d ** 2) + epsilon) * gamma + beta  ->  y = LayerNormalization(x, gamma, beta)
//
// Also with the variance as ReduceMean(x ** 2) - ReduceMean(x) ** 2, and with gamma multiplied to 1 / Sqrt(...) first.
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Over trailing axes only. gamma and beta may be missing. Precondition: simplify_graph and eliminate_common ran, so that d is one value.
// A scalar Parameter that is epsilon or the exponent is frozen.
Status recognise_layer_norm(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
