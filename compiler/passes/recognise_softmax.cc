// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_softmax.h"

#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

struct Match {
  ValueId x = kNone;
  int64_t axis = 0;
};

// x - ReduceMax(x) over one axis.
std::optional<Match> match_shifted(const Pattern& pattern, ValueId value) {
  const Node* difference = pattern.producer(value, Op::Sub);
  const Node* maximum = difference == nullptr ? nullptr : pattern.producer(difference->inputs[1], Op::ReduceMax);
  if (maximum == nullptr || maximum->inputs[0] != difference->inputs[0]) return std::nullopt;
  const Extents axes = pattern.kept_axes(*maximum);
  return axes.size() == 1 ? std::optional<Match>({maximum->inputs[0], axes[0]}) : std::nullopt;
}

// ReduceSum(Exp(x - maximum)), with the exponentials.
std::optional<Match> match_sum(const Pattern& pattern, ValueId value, ValueId* out_exponentials) {
  const Node* sum = pattern.producer(value, Op::ReduceSum);
  const Node* exponentials = sum == nullptr ? nullptr : pattern.producer(sum->inputs[0], Op::Exp);
  if (exponentials == nullptr) return std::nullopt;
  const std::optional<Match> match = match_shifted(pattern, exponentials->inputs[0]);
  if (!match.has_value() || pattern.kept_axes(*sum) != Extents{match->axis}) return std::nullopt;
  *out_exponentials = sum->inputs[0];
  return match;
}

}  // namespace

Status recognise_softmax(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::optional<Match> match;
    ValueId exponentials = kNone;
    if (node.op == Op::Div) {
      match = match_sum(pattern, node.inputs[1], &exponentials);
      if (exponentials != node.inputs[0]) continue;
    } else if (node.op == Op::Sub) {
      const Node* logarithm = pattern.producer(node.inputs[1], Op::Log);
      if (logarithm == nullptr) continue;
      match = match_sum(pattern, logarithm->inputs[0], &exponentials);
      if (match.has_value() && pattern.producer(exponentials, Op::Exp)->inputs[0] != node.inputs[0]) continue;
    }
    if (!match.has_value() || !is_standard_float(pattern.dtype(match->x))) continue;
    const ValueId result = node.outputs[0];
    const Op op = node.op == Op::Div ? Op::Softmax : Op::LogSoftmax;
    Rewriter rewriter(graph, id);
    const ValueId softmax = rewriter.add(op, "softmax", {match->x}, {{"axis", match->axis}});
    TIFFIN_TRY(rewriter.take_status());
    graph.replace_uses(result, softmax);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
