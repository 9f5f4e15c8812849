// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/decompose_operators.h"

#include "compiler/graph/unsupported_list.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

// Composites whose intermediate results deserve more than 16 bits: computed in float32 between two casts.
enum class Precision : uint8_t { AsGiven, AtLeastFloat32 };

struct Row {
  Op op;
  Replacements (*decompose)(Rewriter&);
  Precision precision = Precision::AsGiven;
};

constexpr auto kWide = Precision::AtLeastFloat32;

constexpr Row kRows[] = {
    {Op::Attention, decompose_attention, kWide},
    {Op::BatchNormalization, decompose_batch_normalization, kWide},
    {Op::Celu, decompose_activation, kWide},
    {Op::Clip, decompose_clip},
    {Op::ConstantOfShape, decompose_constant_of_shape},
    {Op::DepthToSpace, decompose_block_movement},
    {Op::DequantizeLinear, decompose_dequantize_linear},
    {Op::Dropout, decompose_dropout},
    {Op::DynamicQuantizeLinear, decompose_dynamic_quantize_linear},
    {Op::Einsum, decompose_einsum, kWide},
    {Op::Flatten, decompose_view},
    {Op::Gemm, decompose_gemm, kWide},
    {Op::GlobalAveragePool, decompose_global_pool},
    {Op::GlobalMaxPool, decompose_global_pool},
    {Op::Greater, decompose_swapped_comparison},
    {Op::GreaterOrEqual, decompose_swapped_comparison},
    {Op::GroupNormalization, decompose_group_normalization, kWide},
    {Op::Hardmax, decompose_hardmax},
    {Op::HardSwish, decompose_activation, kWide},
    {Op::Identity, decompose_identity},
    {Op::InstanceNormalization, decompose_group_normalization, kWide},
    {Op::LpNormalization, decompose_lp_normalization, kWide},
    {Op::LpPool, decompose_lp_pool, kWide},
    {Op::LRN, decompose_lrn, kWide},
    {Op::Max, decompose_variadic},
    {Op::Mean, decompose_variadic, kWide},
    {Op::MeanVarianceNormalization, decompose_mean_variance_normalization, kWide},
    {Op::Min, decompose_variadic},
    {Op::Mish, decompose_activation, kWide},
    {Op::NegativeLogLikelihoodLoss, decompose_loss, kWide},
    {Op::OneHot, decompose_one_hot},
    {Op::Pow, decompose_pow},
    {Op::PRelu, decompose_activation},
    {Op::QLinearConv, decompose_quantized_product},
    {Op::QLinearMatMul, decompose_quantized_product},
    {Op::QuantizeLinear, decompose_quantize_linear},
    {Op::Reciprocal, decompose_activation},
    {Op::ReduceL1, decompose_reduction, kWide},
    {Op::ReduceL2, decompose_reduction, kWide},
    {Op::ReduceLogSum, decompose_reduction, kWide},
    {Op::ReduceLogSumExp, decompose_reduction, kWide},
    {Op::ReduceMax, decompose_reduction},
    {Op::ReduceMean, decompose_reduction},
    {Op::ReduceMin, decompose_reduction},
    {Op::ReduceProd, decompose_reduction},
    {Op::ReduceSum, decompose_reduction},
    {Op::ReduceSumSquare, decompose_reduction, kWide},
    {Op::Resize, decompose_resize, kWide},
    {Op::ReverseSequence, decompose_reverse_sequence},
    {Op::RotaryEmbedding, decompose_rotary_embedding, kWide},
    {Op::Selu, decompose_activation, kWide},
    {Op::Shrink, decompose_activation},
    {Op::SoftmaxCrossEntropyLoss, decompose_loss, kWide},
    {Op::Softsign, decompose_activation, kWide},
    {Op::SpaceToDepth, decompose_block_movement},
    {Op::Split, decompose_split},
    {Op::Squeeze, decompose_view},
    {Op::Sum, decompose_variadic},
    {Op::SwiGLU, decompose_activation, kWide},
    {Op::Swish, decompose_activation, kWide},
    {Op::Tan, decompose_activation, kWide},
    {Op::ThresholdedRelu, decompose_activation},
    {Op::Tile, decompose_tile},
    {Op::Trilu, decompose_trilu},
    {Op::Unsqueeze, decompose_view},
};

const Row* row_of(Op op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

bool is_static(const graph::Graph& graph, const std::vector<ValueId>& values) {
  for (const ValueId value : values) {
    if (value != graph::kNone && !graph.value(value).type.has_static_shape()) return false;
  }
  return true;
}

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

// The same node on float32, between casts; it is decomposed in the next round.
Replacements widen(Rewriter& r) {
  const Node node = r.node();
  std::vector<ValueId> inputs;
  std::vector<std::string> names;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    inputs.push_back(input != graph::kNone && is_half(r.dtype(input)) ? r.cast(input, "wide" + std::to_string(i), DType::Float32) : input);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) names.push_back(node.name + "/wide_result" + std::to_string(i));
  const graph::NodeId id = r.graph().add_node_with_results(node.op, node.name, inputs, names, node.attributes);
  Node& wide = r.graph().node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != graph::kNone) continue;
    r.graph().erase_value(wide.outputs[i]);
    wide.outputs[i] = graph::kNone;
  }
  if (!ops::infer_node(r.graph(), id).is_ok()) {
    r.graph().erase_node(id);
    return {};
  }
  Replacements results;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    results.push_back(node.outputs[i] == graph::kNone ? graph::kNone
                                                      : r.cast(wide.outputs[i], "narrow" + std::to_string(i), r.dtype(node.outputs[i])));
  }
  return results;
}

bool needs_widening(const graph::Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    if (input != graph::kNone && is_half(graph.value(input).type.dtype)) return true;
  }
  return false;
}

// Puts the replacements in place of the node's results, whose types were inferred from the same inputs and must agree.
void replace(graph::Graph& graph, graph::NodeId id, const Replacements& replacements) {
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  for (size_t i = 0; i < outputs.size() && i < replacements.size(); ++i) {
    if (outputs[i] != graph::kNone && replacements[i] != graph::kNone) graph.replace_uses(outputs[i], replacements[i]);
  }
  graph.erase_node(id);
}

// True when it has changed the graph.
bool decompose_node(graph::Graph& graph, graph::NodeId id) {
  Node& node = graph.node(id);
  const Row* row = row_of(node.op);
  if (row == nullptr) return false;
  if (!is_static(graph, node.inputs) || !is_static(graph, node.outputs)) return false;
  Rewriter rewriter(graph, id);
  const bool widens = row->precision == kWide && needs_widening(graph, node);
  const Replacements replacements = widens ? widen(rewriter) : row->decompose(rewriter);
  if (!rewriter.is_ok()) {
    graph::make_stand_in(graph, node, rewriter.take_status());
    return true;
  }
  if (replacements.empty()) return false;
  replace(graph, id, replacements);
  return true;
}

}  // namespace

Status decompose_operators(graph::Graph& graph, PassContext&) {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const graph::NodeId id : graph.topological_order()) {
      has_changed = decompose_node(graph, id) || has_changed;
    }
    graph.erase_dead();
  }
  return {};
}

}  // namespace tiffin::passes
