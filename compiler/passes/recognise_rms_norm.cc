// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_rms_norm.h"

#include "compiler/passes/normalized_rows.h"

namespace tiffin::passes {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

Status recognise_rms_norm(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  for (const NodeId id : graph.topological_order()) {
    const std::optional<NormalizedRows> match = match_normalized_rows(pattern, graph.node(id));
    if (!match.has_value()) continue;
    const ValueId x = match->rows;
    ValueId result = graph.node(id).outputs[0], gamma = kNone;
    if (const Node* scaled = row_reader(pattern, result, Op::Mul, x, match->axis)) {
      gamma = Pattern::other(*scaled, result);
      result = scaled->outputs[0];
    }
    Rewriter rewriter(graph, id);
    const ValueId scale = gamma == kNone ? rewriter.number(pattern.dtype(x), 1) : row_shaped(rewriter, gamma, "gamma", x, match->axis);
    const ValueId y = rewriter.add(Op::RMSNormalization, "normalized", {x, scale}, {{"axis", match->axis}, {"epsilon", match->epsilon}});
    TIFFIN_TRY(rewriter.take_status());
    freeze(graph, match->numbers);
    graph.replace_uses(result, y);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
