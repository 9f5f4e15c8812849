// SPDX-License-Identifier: Apache-2.0
// Computes equal expressions once, and nothing that no output needs.
//
//   a = Relu(x), b = Relu(x), y = Add(a, b)  ->  a = Relu(x), y = Add(a, a)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Nodes are equal when operator, operands and attributes are; Constants when their tensors are. Parameters are never equal: their values may be
// exchanged one by one.
Status eliminate_common(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
