// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_layer_norm.h"

#include "compiler/passes/normalized_rows.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

// x when `value` is x - ReduceMean(x) over the axes from `axis` on.
ValueId centred(const Pattern& pattern, ValueId value, int64_t axis) {
  const Node* difference = pattern.producer(value, Op::Sub);
  const Node* mean = difference == nullptr ? nullptr : pattern.producer(difference->inputs[1], Op::ReduceMean);
  if (mean == nullptr || mean->inputs[0] != difference->inputs[0] || trailing_axis(pattern, *mean) != axis) return kNone;
  return mean->inputs[0];
}

}  // namespace

Status recognise_layer_norm(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  for (const NodeId id : graph.topological_order()) {
    const std::optional<NormalizedRows> match = match_normalized_rows(pattern, graph.node(id));
    const ValueId x = match.has_value() ? centred(pattern, match->rows, match->axis) : kNone;
    if (x == kNone) continue;
    ValueId result = graph.node(id).outputs[0], gamma = kNone, beta = kNone;
    if (const Node* scaled = row_reader(pattern, result, Op::Mul, x, match->axis)) {
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
