// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 are types of storage: what one operator hands to the next stays float32, as kernels compute it.
//
//   p = Softmax(s : float16)  y = MatMul(p, v : float16)
//     ->  p = Softmax(Cast(s)) : float32  y = Cast(MatMul(p, Cast(v)) : float32) : float16
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// A model in float16 loses one rounding per operator, so that a result does not depend on how a formula is cut into operators. Kept as they are:
// operators that read a large parameter or constant of 16 bits (it would double), that compare or choose by value, and casts of the model itself,
// which round where it says so. Inputs, outputs and parameters keep their types.
Status widen_halves(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
