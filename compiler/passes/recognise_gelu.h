// SPDX-License-Identifier: Apache-2.0
// Finds GELU written out, in any order of its factors, and makes it one operator.
//
//   y = x * 0.5 * (1 + Erf(x / 1.41421))                          ->  y = Gelu(x)
//   y = 0.5 * x * (1 + Tanh(0.797885 * (x + 0.044715 * x ** 3)))  ->  y = Gelu(x, approximate="tanh")
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Precondition: simplify_graph and eliminate_common ran, so that x is one value. Scalar Parameters that are numbers of the formula are frozen.
Status recognise_gelu(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
