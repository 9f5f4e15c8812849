// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_softmax.h"

#include <cmath>

#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

struct Match {
  ValueId x = kNone;
  int64_t axis = 0;
  std::vector<ValueId> numbers;  // to freeze
};

struct Maximum {
  const Node* reduction = nullptr;
  std::vector<ValueId> numbers;  // to freeze
};

// ReduceMax below Reshapes and Max(-inf, …), which change nothing but the shape.
Maximum find_maximum(const Pattern& pattern, ValueId value) {
  Maximum found;
  while (true) {
    if (const Node* reshape = pattern.producer(value, Op::Reshape)) {
      value = reshape->inputs[0];
      continue;
    }
    const Node* bounded = pattern.producer(value, Op::Max);
    if (bounded == nullptr || bounded->inputs.size() != 2) break;
    const size_t side = pattern.number(bounded->inputs[0]) == -HUGE_VAL ? 0 : 1;
    if (pattern.number(bounded->inputs[side]) != -HUGE_VAL) break;
    found.numbers.push_back(bounded->inputs[side]);
    value = bounded->inputs[1 - side];
  }
  found.reduction = pattern.producer(value, Op::ReduceMax);
  return found;
}

// x - ReduceMax(x) over one axis.
std::optional<Match> match_shifted(const Pattern& pattern, ValueId value) {
  const Node* difference = pattern.producer(value, Op::Sub);
  if (difference == nullptr) return std::nullopt;
  const Maximum maximum = find_maximum(pattern, difference->inputs[1]);
  const ValueId x = difference->inputs[0];
  if (maximum.reduction == nullptr || maximum.reduction->inputs[0] != x) return std::nullopt;
  const graph::Tensor* axes = pattern.graph().tensor_of(maximum.reduction->input(1));
  if (axes == nullptr || axes->num_elements() != 1 || axes->to_int64s()[0] < 0) return std::nullopt;
  const int64_t axis = axes->to_int64s()[0];
  Extents kept = pattern.shape(x);
  kept[static_cast<size_t>(axis)] = 1;
  if (pattern.shape(difference->inputs[1]) != kept) return std::nullopt;
  return Match{x, axis, maximum.numbers};
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
    if (!match.has_value() || !is_full_precision(pattern.dtype(match->x))) continue;
    const ValueId result = node.outputs[0];
    const Op op = node.op == Op::Div ? Op::Softmax : Op::LogSoftmax;
    Rewriter rewriter(graph, id);
    const ValueId softmax = rewriter.add(op, "softmax", {match->x}, {{"axis", match->axis}});
    TIFFIN_TRY(rewriter.take_status());
    freeze(graph, match->numbers);
    graph.replace_uses(result, softmax);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
