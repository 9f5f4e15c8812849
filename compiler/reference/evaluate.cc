// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/evaluate.h"

#include <string>

#include "compiler/ops/infer.h"
#include "compiler/reference/evaluation.h"

namespace tiffin::reference {
namespace {

struct Row {
  Op op;
  Evaluator evaluator;
};

constexpr Row kRows[] = {
    {Op::Abs, evaluate_unary},
    {Op::Acos, evaluate_unary},
    {Op::Acosh, evaluate_unary},
    {Op::Add, evaluate_binary},
    {Op::And, evaluate_logic},
    {Op::ArgMax, evaluate_arg_reduction},
    {Op::ArgMin, evaluate_arg_reduction},
    {Op::Asin, evaluate_unary},
    {Op::Asinh, evaluate_unary},
    {Op::Atan, evaluate_unary},
    {Op::Atanh, evaluate_unary},
    {Op::AveragePool, evaluate_pool},
    {Op::BitShift, evaluate_binary},
    {Op::BitwiseAnd, evaluate_binary},
    {Op::BitwiseNot, evaluate_unary},
    {Op::BitwiseOr, evaluate_binary},
    {Op::BitwiseXor, evaluate_binary},
    {Op::BlockedConv, evaluate_blocked_convolution},
    {Op::BlockedDepthwiseConv, evaluate_blocked_convolution},
    {Op::Cast, evaluate_cast},
    {Op::Ceil, evaluate_unary},
    {Op::Celu, evaluate_unary},
    {Op::Clip, evaluate_clip},
    {Op::Concat, evaluate_concat},
    {Op::ConstantOfShape, evaluate_constant_of_shape},
    {Op::Conv, evaluate_convolution},
    {Op::ConvInteger, evaluate_convolution},
    {Op::ConvTranspose, evaluate_transposed_convolution},
    {Op::Cos, evaluate_unary},
    {Op::Cosh, evaluate_unary},
    {Op::CumProd, evaluate_cumulation},
    {Op::CumSum, evaluate_cumulation},
    {Op::DepthToSpace, evaluate_transpose},
    {Op::Div, evaluate_binary},
    {Op::Dropout, evaluate_same_elements},
    {Op::Elu, evaluate_unary},
    {Op::Equal, evaluate_comparison},
    {Op::Erf, evaluate_unary},
    {Op::Exp, evaluate_unary},
    {Op::Expand, evaluate_expand},
    {Op::EyeLike, evaluate_eye_like},
    {Op::Flatten, evaluate_same_elements},
    {Op::Floor, evaluate_unary},
    {Op::Gather, evaluate_gather},
    {Op::GatherElements, evaluate_gather_elements},
    {Op::GatherND, evaluate_gather_nd},
    {Op::Gelu, evaluate_unary},
    {Op::Gemm, evaluate_gemm},
    {Op::GlobalAveragePool, evaluate_pool},
    {Op::GlobalMaxPool, evaluate_pool},
    {Op::Greater, evaluate_comparison},
    {Op::GreaterOrEqual, evaluate_comparison},
    {Op::GridSample, evaluate_grid_sample},
    {Op::GRU, evaluate_recurrence},
    {Op::HardSigmoid, evaluate_unary},
    {Op::HardSwish, evaluate_unary},
    {Op::Hardmax, evaluate_softmax},
    {Op::Identity, evaluate_same_elements},
    {Op::IsInf, evaluate_predicate},
    {Op::IsNaN, evaluate_predicate},
    {Op::LayerNormalization, evaluate_row_normalization},
    {Op::LeakyRelu, evaluate_unary},
    {Op::Less, evaluate_comparison},
    {Op::LessOrEqual, evaluate_comparison},
    {Op::Log, evaluate_unary},
    {Op::LogSoftmax, evaluate_softmax},
    {Op::LpPool, evaluate_pool},
    {Op::LSTM, evaluate_recurrence},
    {Op::MatMul, evaluate_matmul},
    {Op::MatMulInteger, evaluate_matmul_integer},
    {Op::Max, evaluate_binary},
    {Op::MaxPool, evaluate_pool},
    {Op::Mean, evaluate_binary},
    {Op::Min, evaluate_binary},
    {Op::Mish, evaluate_unary},
    {Op::Mod, evaluate_binary},
    {Op::Mul, evaluate_binary},
    {Op::Neg, evaluate_unary},
    {Op::NonZero, evaluate_non_zero},
    {Op::Not, evaluate_unary},
    {Op::Or, evaluate_logic},
    {Op::PackPanels, evaluate_pack_panels},
    {Op::PackedMatMul, evaluate_packed_matmul},
    {Op::Pad, evaluate_pad},
    {Op::Pow, evaluate_binary},
    {Op::PRelu, evaluate_binary},
    {Op::Range, evaluate_range},
    {Op::Reciprocal, evaluate_unary},
    {Op::ReduceL1, evaluate_reduction},
    {Op::ReduceL2, evaluate_reduction},
    {Op::ReduceLogSum, evaluate_reduction},
    {Op::ReduceLogSumExp, evaluate_reduction},
    {Op::ReduceMax, evaluate_reduction},
    {Op::ReduceMean, evaluate_reduction},
    {Op::ReduceMin, evaluate_reduction},
    {Op::ReduceProd, evaluate_reduction},
    {Op::ReduceSum, evaluate_reduction},
    {Op::ReduceSumSquare, evaluate_reduction},
    {Op::Relu, evaluate_unary},
    {Op::Reshape, evaluate_same_elements},
    {Op::Resize, evaluate_resize},
    {Op::RMSNormalization, evaluate_row_normalization},
    {Op::RNN, evaluate_recurrence},
    {Op::RoiAlign, evaluate_roi_align},
    {Op::Round, evaluate_unary},
    {Op::ScatterElements, evaluate_scatter_elements},
    {Op::ScatterND, evaluate_scatter_nd},
    {Op::Selu, evaluate_unary},
    {Op::Shape, evaluate_shape},
    {Op::Shrink, evaluate_unary},
    {Op::Sigmoid, evaluate_unary},
    {Op::Sign, evaluate_unary},
    {Op::Sin, evaluate_unary},
    {Op::Sinh, evaluate_unary},
    {Op::Size, evaluate_shape},
    {Op::Slice, evaluate_slice},
    {Op::Softmax, evaluate_softmax},
    {Op::Softplus, evaluate_unary},
    {Op::Softsign, evaluate_unary},
    {Op::SpaceToDepth, evaluate_transpose},
    {Op::Split, evaluate_split},
    {Op::Sqrt, evaluate_unary},
    {Op::Squeeze, evaluate_same_elements},
    {Op::Sub, evaluate_binary},
    {Op::Sum, evaluate_binary},
    {Op::Swish, evaluate_unary},
    {Op::Tan, evaluate_unary},
    {Op::Tanh, evaluate_unary},
    {Op::ThresholdedRelu, evaluate_unary},
    {Op::Tile, evaluate_tile},
    {Op::TopK, evaluate_top_k},
    {Op::Transpose, evaluate_transpose},
    {Op::Unsqueeze, evaluate_same_elements},
    {Op::Where, evaluate_where},
    {Op::Xor, evaluate_logic},
};

Evaluator evaluator_of(Op op) {
  for (const Row& row : kRows) {
    if (row.op == op) return row.evaluator;
  }
  return nullptr;
}

Status unsupported_operator(const Node& node) {
  return error(Code::UnsupportedOperator, "operator '%s' of node '%s' has no evaluation at compile time",
               std::string(graph::op_name(node.op)).c_str(), node.name.c_str());
}

// The node alone in a graph of its own, its inputs constants.
graph::NodeId isolate(const Node& node, std::span<const Tensor> inputs, graph::Graph& alone) {
  std::vector<graph::ValueId> operands;
  for (const Tensor& input : inputs) operands.push_back(input.is_empty() ? graph::kNone : alone.add_constant("", input));
  const std::vector<std::string> results(node.outputs.size());
  const graph::NodeId id = alone.add_node_with_results(node.op, node.name, std::move(operands), results, node.attributes);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == graph::kNone) alone.node(id).outputs[i] = graph::kNone;
  }
  return id;
}

using Environment = std::vector<Tensor>;  // by ValueId; empty while not computed

Result<Tensors> run_graph(const graph::Graph& graph, Environment environment, const Observer& observe = {});

const graph::Graph* branch_of(const Node& node, const char* key) {
  const auto found = node.attributes.find(key);
  const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<graph::Graph>>(&found->second);
  return body == nullptr ? nullptr : body->get();
}

// The Outer values of a branch, in their order, from the node's captured inputs beginning at `next`; returns where they end.
size_t take_captured(const graph::Graph& branch, std::span<const Tensor> inputs, size_t next, Environment& environment) {
  environment.resize(branch.value_capacity());
  for (size_t i = 0; i < branch.value_capacity(); ++i) {
    const graph::Value& value = branch.value(static_cast<graph::ValueId>(i));
    if (value.kind == graph::ValueKind::Outer && next < inputs.size()) environment[i] = inputs[next++];
  }
  return next;
}

// The inputs of If are the condition, what then_branch captures, and what else_branch captures.
Result<Tensors> run_branch(const Node& node, std::span<const Tensor> inputs) {
  const graph::Graph *then_branch = branch_of(node, "then_branch"), *else_branch = branch_of(node, "else_branch");
  if (then_branch == nullptr || else_branch == nullptr) return error(Code::InvalidModel, "node '%s' (If) lacks a branch", node.name.c_str());
  Environment then_values, else_values;
  const size_t next = take_captured(*then_branch, inputs, 1, then_values);
  take_captured(*else_branch, inputs, next, else_values);
  const bool is_true = inputs[0].at<uint8_t>(0) != 0;
  return is_true ? run_graph(*then_branch, std::move(then_values)) : run_graph(*else_branch, std::move(else_values));
}

// How many nodes, and outputs of the graph, still read each value.
std::vector<size_t> count_readers(const graph::Graph& graph) {
  std::vector<size_t> readers(graph.value_capacity());
  for (const graph::NodeId id : graph.topological_order()) {
    for (const graph::ValueId input : graph.node(id).inputs) readers[static_cast<size_t>(input == graph::kNone ? 0 : input)] += input != graph::kNone;
  }
  for (const graph::ValueId output : graph.outputs()) ++readers[static_cast<size_t>(output)];
  return readers;
}

Result<Tensors> run_graph(const graph::Graph& graph, Environment environment, const Observer& observe) {
  std::vector<size_t> readers = count_readers(graph);
  for (const graph::NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    Tensors inputs;
    for (const graph::ValueId input : node.inputs) {
      const Tensor* constant = input == graph::kNone ? nullptr : graph.tensor_of(input);
      if (input == graph::kNone)
        inputs.emplace_back();
      else
        inputs.push_back(constant != nullptr ? *constant : environment[static_cast<size_t>(input)]);
    }
    Result<Tensors> results = node.op == Op::If ? run_branch(node, inputs) : evaluate(graph, node, inputs);
    if (!results.has_value()) return results.take_error();
    if (observe) TIFFIN_TRY(observe(node, inputs, *results));
    for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
      if (node.outputs[i] != graph::kNone) environment[static_cast<size_t>(node.outputs[i])] = (*results)[i];
    }
    for (const graph::ValueId input : node.inputs) {
      if (input != graph::kNone && --readers[static_cast<size_t>(input)] == 0) environment[static_cast<size_t>(input)] = Tensor();
    }
  }
  Tensors outputs;
  for (const graph::ValueId output : graph.outputs()) {
    const Tensor* constant = graph.tensor_of(output);
    outputs.push_back(constant != nullptr ? *constant : environment[static_cast<size_t>(output)]);
  }
  return outputs;
}

}  // namespace

Status Evaluation::unsupported_type(DType dtype) const {
  return error(Code::UnsupportedType, "'%s' (%s) has no evaluation on %s", node.name.c_str(), std::string(graph::op_name(node.op)).c_str(),
               std::string(dtype_name(dtype)).c_str());
}

bool can_evaluate(Op op) { return evaluator_of(op) != nullptr; }

Result<Tensors> evaluate(const graph::Graph&, const Node& node, std::span<const Tensor> inputs) {
  const Evaluator evaluator = evaluator_of(node.op);
  if (evaluator == nullptr) return unsupported_operator(node);
  graph::Graph alone("evaluation");
  const graph::NodeId id = isolate(node, inputs, alone);
  TIFFIN_TRY(ops::infer_node(alone, id));
  return evaluator({alone, alone.node(id), inputs});
}

Result<Tensors> evaluate_graph(const graph::Graph& graph, const std::vector<Tensor>& inputs) { return evaluate_graph(graph, inputs, {}); }

Result<Tensors> evaluate_graph(const graph::Graph& graph, const std::vector<Tensor>& inputs, const Observer& observe) {
  if (inputs.size() != graph.inputs().size()) {
    return error(Code::InvalidArgument, "graph '%s' takes %zu inputs, %zu were given", graph.name().c_str(), graph.inputs().size(), inputs.size());
  }
  Environment environment(graph.value_capacity());
  for (size_t i = 0; i < inputs.size(); ++i) environment[static_cast<size_t>(graph.inputs()[i])] = inputs[i];
  return run_graph(graph, std::move(environment), observe);
}

}  // namespace tiffin::reference
