// SPDX-License-Identifier: Apache-2.0
// Joins a chain of per-channel additions and multiplications behind an operator into one multiplication and one addition. What they read is computed
// from parameters once, when these are bound.
//
//   y = (Conv(x, w, bias) - mean) * s + t  ->  y = Conv(x, w) * s + ((bias - mean) * s + t)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// float32 and float64. The vectors are expressions of Parameters that plan/vector_expression.h can store, or Constants; others end a chain. Rounding
// differs from the original's by a few units in the last place of the largest term.
Status fold_scale_shift(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
