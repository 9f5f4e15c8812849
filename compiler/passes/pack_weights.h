// SPDX-License-Identifier: Apache-2.0
// Gives matrix products with a parameter on the right the packed form that tiles read; docs/architecture/layouts.md.
//
//   y = MatMul(x, w)                ->  y = PackedMatMul(x, PackPanels(w)) {n=N}
//   y = Gemm(x, w, c) {transB=1}    ->  y = Add(PackedMatMul(x, PackPanels(Transpose(w))) {n=N}, c)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Float32 products only, and only weights that nothing but such products reads: a parameter is stored once. A Gemm of other operands becomes MatMul
// and Add.
Status pack_weights(graph::Graph& graph, PassContext& context);

// True when `value` is a Parameter, or made from one by Transpose and Reshape, and every reader of that parameter is `op` or such a movement.
bool is_packable_weight(const graph::Graph& graph, const std::vector<std::vector<graph::NodeId>>& users, graph::ValueId value, graph::Op op);

}  // namespace tiffin::passes
