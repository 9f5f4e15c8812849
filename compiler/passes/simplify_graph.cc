// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/simplify_graph.h"

#include "compiler/ops/op_class.h"
#include "compiler/passes/simplifications.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

// Every rule shortens a chain or moves a Slice towards the inputs, so the rounds end; the limit guards against a rule that does not.
constexpr int kMaxRounds = 1000;

bool is_static(const Graph& graph, const std::vector<ValueId>& values) {
  for (const ValueId value : values) {
    if (value != kNone && !graph.value(value).type.has_static_shape()) return false;
  }
  return true;
}

ValueId simplify(Rewriter& rewriter, const Pattern& pattern) {
  switch (rewriter.node().op) {
    case Op::Cast:
      return simplify_cast(rewriter, pattern);
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
      return simplify_arithmetic(rewriter, pattern);
    case Op::Neg:
    case Op::Not:
      return simplify_inverse_pair(rewriter, pattern);
    case Op::Where:
      return simplify_where(rewriter, pattern);
    case Op::Reshape:
      return simplify_reshape(rewriter, pattern);
    case Op::Transpose:
      return simplify_transpose(rewriter, pattern);
    case Op::Slice:
      return simplify_slice(rewriter, pattern);
    case Op::Gather:
      return simplify_gather(rewriter, pattern);
    case Op::Expand:
    case Op::Pad:
    case Op::Concat:
      return simplify_copy(rewriter, pattern);
    default:
      return kNone;
  }
}

// One walk; a replaced node's readers see the replacement at once. `out_has_changed` asks for another.
Status walk(Graph& graph, bool* out_has_changed) {
  const Pattern pattern(graph);
  *out_has_changed = false;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.outputs.size() != 1 || !is_static(graph, node.inputs) || !is_static(graph, node.outputs)) continue;
    if (ops::op_class(node.op) == ops::OpClass::Elementwise && drop_expands(graph, id, pattern)) *out_has_changed = true;
    Rewriter rewriter(graph, id);
    const ValueId result = node.outputs[0], replacement = simplify(rewriter, pattern);
    TIFFIN_TRY(rewriter.take_status());
    if (replacement == kNone || replacement == result) continue;
    graph.replace_uses(result, replacement);
    *out_has_changed = true;
  }
  graph.erase_dead();
  return {};
}

}  // namespace

Status simplify_graph(Graph& graph, PassContext&) {
  bool has_changed = true;
  for (int round = 0; has_changed && round < kMaxRounds; ++round) TIFFIN_TRY(walk(graph, &has_changed));
  return {};
}

}  // namespace tiffin::passes
