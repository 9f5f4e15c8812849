// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/frozen_operands.h"

namespace tiffin::passes {

using graph::Op;

bool is_program_operand(Op op, size_t i) {
  switch (op) {
    case Op::ConstantOfShape:
    case Op::If:
    case Op::NonZero:
      return i == 0;
    case Op::CumProd:
    case Op::CumSum:
    case Op::Expand:
    case Op::OneHot:
    case Op::ReduceL1:
    case Op::ReduceL2:
    case Op::ReduceLogSum:
    case Op::ReduceLogSumExp:
    case Op::ReduceMax:
    case Op::ReduceMean:
    case Op::ReduceMin:
    case Op::ReduceProd:
    case Op::ReduceSum:
    case Op::ReduceSumSquare:
    case Op::Reshape:
    case Op::Split:
    case Op::Squeeze:
    case Op::Tile:
    case Op::TopK:
    case Op::Trilu:
    case Op::Unsqueeze:
      return i == 1;
    case Op::Clip:
    case Op::Dropout:
      return i == 1 || i == 2;
    case Op::Pad:
      return i == 1 || i == 3;
    case Op::Range:
      return i <= 2;
    case Op::NonMaxSuppression:
      return true;
    case Op::Resize:
    case Op::Slice:
      return i >= 1;
    default:
      return false;
  }
}

void freeze_program_operands(graph::Graph& graph) {
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == graph::kNone || !is_program_operand(node.op, i)) continue;
      graph::Value& value = graph.value(node.inputs[i]);
      if (value.kind == graph::ValueKind::Parameter) value.is_frozen = true;
    }
  }
}

}  // namespace tiffin::passes
