// SPDX-License-Identifier: Apache-2.0
// Finds softmax written out, with its maximum subtracted, and makes it one operator.
//
//   e = Exp(x - ReduceMax(x)), y = e / ReduceSum(e)                 ->  y = Softmax(x)
//   s = x - ReduceMax(x),      y = s - Log(ReduceSum(Exp(s)))       ->  y = LogSoftmax(x)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Over one axis. Without the subtraction it overflows where Softmax does not, and stays as it is. Precondition: eliminate_common ran.
Status recognise_softmax(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
