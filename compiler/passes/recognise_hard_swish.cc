// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_hard_swish.h"

#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

struct Gate {
  ValueId x = kNone;
  std::vector<ValueId> numbers;  // to freeze
};

// Clip(x + 3, 0, 6).
Gate match_gate(const Pattern& pattern, ValueId value) {
  const Node* clip = pattern.producer(value, Op::Clip);
  if (clip == nullptr || pattern.number(clip->input(1)) != 0.0 || pattern.number(clip->input(2)) != 6.0) return {};
  const Node* sum = pattern.producer(clip->inputs[0], Op::Add);
  if (sum == nullptr || !is_full_precision(pattern.dtype(value))) return {};
  for (const size_t side : {0, 1}) {
    const ValueId x = sum->inputs[1 - side];
    if (pattern.number(sum->inputs[side]) == 3.0 && pattern.shape(x) == pattern.shape(value))
      return {x, {sum->inputs[side], clip->input(1), clip->input(2)}};
  }
  return {};
}

// The value that Div(value, 6) or Mul(value, 1/6) divides.
ValueId divided_by_six(const Pattern& pattern, const Node& node, std::vector<ValueId>* out_numbers) {
  if (node.op != Op::Div && node.op != Op::Mul) return kNone;
  for (size_t side = node.op == Op::Div ? 1 : 0; side < 2; ++side) {
    if (!pattern.is_number(node.inputs[side], node.op == Op::Div ? 6 : 1.0 / 6)) continue;
    out_numbers->push_back(node.inputs[side]);
    return node.inputs[1 - side];
  }
  return kNone;
}

ValueId hard_sigmoid(Rewriter& r, const Gate& gate) {
  return r.add(Op::HardSigmoid, "gate", {gate.x}, {{"alpha", static_cast<double>(1.0F / 6)}, {"beta", 0.5}});
}

// What stands for the quotient `dividend` / 6, or kNone.
ValueId recognise(Rewriter& r, const Pattern& pattern, ValueId dividend, Gate* out_gate) {
  *out_gate = match_gate(pattern, dividend);
  if (out_gate->x != kNone) return hard_sigmoid(r, *out_gate);
  const Node* product = pattern.producer(dividend, Op::Mul);
  if (product == nullptr || !pattern.has_one_reader(dividend)) return kNone;
  for (const size_t side : {0, 1}) {
    const ValueId x = product->inputs[1 - side];
    *out_gate = match_gate(pattern, product->inputs[side]);
    if (out_gate->x != kNone && pattern.shape(x) == pattern.shape(dividend)) return r.add(Op::Mul, "swish", {x, hard_sigmoid(r, *out_gate)});
  }
  return kNone;
}

}  // namespace

Status recognise_hard_swish(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  for (const NodeId id : graph.topological_order()) {
    std::vector<ValueId> numbers;
    const ValueId dividend = divided_by_six(pattern, graph.node(id), &numbers);
    if (dividend == kNone || graph.value(dividend).type != graph.value(graph.node(id).outputs[0]).type) continue;
    Rewriter rewriter(graph, id);
    Gate gate;
    const ValueId result = graph.node(id).outputs[0], replacement = recognise(rewriter, pattern, dividend, &gate);
    TIFFIN_TRY(rewriter.take_status());
    if (replacement == kNone) continue;
    freeze(graph, gate.numbers);
    freeze(graph, numbers);
    graph.replace_uses(result, replacement);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
