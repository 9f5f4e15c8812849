// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_layer_norm.h"

#include "compiler/passes/normalized_rows.h"

namespace tiffin::passes {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

Status recognise_layer_norm(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  for (const NodeId id : graph.topological_order()) {
    const std::optional<NormalizedRows> match = match_centred_rows(pattern, graph.node(id));
    if (!match.has_value()) continue;
    const ValueId x = match->rows;
    ValueId result = graph.node(id).outputs[0], gamma = match->gamma, beta = kNone;
    const Node* scaled = gamma == kNone ? row_reader(pattern, result, Op::Mul, x, match->axis) : nullptr;
    if (scaled != nullptr) {
      gamma = Pattern::other(*scaled, result);
      result = scaled->outputs[0];
    }
    if (const Node* shifted = row_reader(pattern, result, Op::Add, x, match->axis)) {
      beta = Pattern::other(*shifted, result);
      result = shifted->outputs[0];
    }
    Rewriter rewriter(graph, id);
    std::vector<ValueId> inputs = {x};
    inputs.push_back(gamma == kNone ? rewriter.number(pattern.dtype(x), 1) : row_shaped(rewriter, gamma, "gamma", x, match->axis));
    if (beta != kNone) inputs.push_back(row_shaped(rewriter, beta, "beta", x, match->axis));
    const ValueId y = rewriter.add(Op::LayerNormalization, "normalized", inputs, {{"axis", match->axis}, {"epsilon", match->epsilon}});
    TIFFIN_TRY(rewriter.take_status());
    freeze(graph, match->numbers);
    graph.replace_uses(result, y);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
