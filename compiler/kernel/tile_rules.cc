// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/tile_rules.h"

#include <algorithm>

#include "compiler/ops/op_class.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::ValueId;

constexpr TileRule kRules[] = {
    {Op::MatMul, has_matmul_tiles, emit_matmul_tiles},
    {Op::PackedMatMul, has_matmul_tiles, emit_matmul_tiles},
    {Op::BlockedConv, has_transposed_tiles, emit_transposed_tiles},
    {Op::BlockedConv, has_convolution_tiles, emit_convolution_tiles},
    {Op::BlockedDepthwiseConv, has_depthwise_tiles, emit_depthwise_tiles},
};

}  // namespace

TileRoot find_tile_root(const Lowering& lowering) {
  for (const NodeId id : lowering.nodes()) {
    const Node& node = lowering.graph().node(id);
    for (const TileRule& rule : kRules) {
      if (rule.op != node.op || (!lowering.vectorises() && node.op == Op::MatMul) || !rule.matches(lowering, node)) continue;
      const auto has_its_shape = [&](ValueId output) { return lowering.shape(output) == lowering.shape(node.outputs[0]); };
      if (std::all_of(lowering.outputs().begin(), lowering.outputs().end(), has_its_shape)) return {&rule, &node};
    }
  }
  return {};
}

Status emit_tiles(Lowering& lowering, const TileRoot& root) {
  lowering.tile_root = root.node->outputs[0];
  return root.rule->emit(lowering, *root.node);
}

std::vector<std::pair<int, int>> tile_in_place_pairs(const Lowering& lowering, const TileRoot& root) {
  std::vector<std::pair<int, int>> pairs;
  const auto& buffers = lowering.buffers();
  const auto is_simple = [&](NodeId id) {
    const Node& node = lowering.graph().node(id);
    return &node == root.node || ops::op_class(node.op) == ops::OpClass::Elementwise;
  };
  if (lowering.outputs().size() != 1 || !std::all_of(lowering.nodes().begin(), lowering.nodes().end(), is_simple)) return pairs;
  const ValueId output = lowering.outputs()[0];
  for (size_t i = 0; i + 1 < buffers.size(); ++i) {
    const auto& operands = root.node->inputs;
    const bool is_operand = std::find(operands.begin(), operands.end(), buffers[i]) != operands.end();
    if (is_operand || lowering.shape(buffers[i]) != lowering.shape(output) || lowering.dtype(buffers[i]) != lowering.dtype(output)) continue;
    pairs.emplace_back(static_cast<int>(i), static_cast<int>(buffers.size() - 1));
  }
  return pairs;
}

Result<ElementFn> define_tile_root(Lowering& lowering, const Node& node) {
  const bool is_float = lowering.dtype(node.inputs[0]) == DType::Float32;
  if (!is_float) return ops::node_error(Code::UnsupportedType, lowering.graph(), node, "tiles compute float32 only");
  return ElementFn([](Lowering& failing, size_t, Points points) {
    failing.has_failed = true;
    return Values(points.size(), failing.b().real({DType::Float32, 1}, 0));
  });
}

}  // namespace tiffin::kernel
