// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/vector_expression.h"

#include <algorithm>

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Op;
using graph::ValueId;
using graph::ValueKind;

// What is stored beside the parameters must stay small against them.
constexpr int64_t kMaxElements = 16384;
constexpr size_t kMaxSteps = 64;

std::vector<int64_t> without_ones(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

class Deriver {
 public:
  Deriver(const Graph& graph, const std::map<ValueId, uint32_t>& parameter_index) : graph_(graph), parameter_index_(parameter_index) {}

  std::optional<VectorExpression> run(ValueId value) {
    const graph::Type& type = graph_.value(value).type;
    const bool is_float = type.dtype == DType::Float32 || type.dtype == DType::Float64;
    if (!is_float || !type.has_static_shape() || type.num_elements() > kMaxElements || type.num_elements() == 0) return std::nullopt;
    full_shape_ = type.static_shape();
    out_.shape = without_ones(full_shape_);
    if (!append(value) || !has_parameter_) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool append(ValueId value);
  bool append_parameter(ValueId value);
  bool append_constant(ValueId value);
  bool append_node(const Node& node, DType dtype);
  void push(VectorOp op, DType dtype, uint32_t operand = 0, std::vector<int64_t> strides = {}) {
    VectorStep step;
    step.op = op;
    step.dtype = dtype;
    step.operand = operand;
    step.strides = std::move(strides);
    out_.steps.push_back(std::move(step));
  }

  const Graph& graph_;
  const std::map<ValueId, uint32_t>& parameter_index_;
  std::vector<int64_t> full_shape_;
  VectorExpression out_;
  bool has_parameter_ = false;
};

bool Deriver::append(ValueId value) {
  if (value == kNone || out_.steps.size() >= kMaxSteps) return false;
  const graph::Value& v = graph_.value(value);
  if (v.kind == ValueKind::Parameter) return append_parameter(value);
  if (v.kind == ValueKind::Constant) return append_constant(value);
  if (v.producer == kNone) return false;
  return append_node(graph_.node(v.producer), v.type.dtype);
}

// Broadcast over the expression's shape: whole, one element, or the same but for axes of one element.
bool Deriver::append_parameter(ValueId value) {
  const graph::Tensor& tensor = graph_.value(value).tensor;
  if (!is_standard_float(tensor.dtype()) && !is_standard_int(tensor.dtype())) return false;
  const std::vector<int64_t> own = without_ones(tensor.shape());
  std::vector<int64_t> strides(out_.shape.size(), 0);
  if (own == out_.shape) {
    strides = graph::row_major_strides(own);
  } else if (!own.empty()) {
    return false;
  }
  push(VectorOp::LoadParameter, tensor.dtype(), parameter_index_.at(value), std::move(strides));
  has_parameter_ = true;
  return true;
}

bool Deriver::append_constant(ValueId value) {
  const graph::Tensor& tensor = graph_.value(value).tensor;
  if (tensor.num_elements() != 1 || !is_standard_float(tensor.dtype())) return false;
  out_.constants.push_back(tensor.to_doubles()[0]);
  push(VectorOp::LoadConstant, tensor.dtype(), static_cast<uint32_t>(out_.constants.size() - 1));
  return true;
}

bool Deriver::append_node(const Node& node, DType dtype) {
  const auto binary = [&](VectorOp op) {
    if (!append(node.input(0)) || !append(node.input(1))) return false;
    push(op, dtype);
    return true;
  };
  const bool is_float = is_standard_float(dtype);
  switch (node.op) {
    case Op::Add:
      return binary(VectorOp::Add);
    case Op::Sub:
      return binary(VectorOp::Subtract);
    case Op::Mul:
      return binary(VectorOp::Multiply);
    case Op::Div:
      return is_float && binary(VectorOp::Divide);
    case Op::Sqrt:
      if (!is_float || !append(node.input(0))) return false;
      push(VectorOp::SquareRoot, dtype);
      return true;
    case Op::Cast:
      if (!append(node.input(0))) return false;
      push(VectorOp::Cast, dtype);
      return true;
    case Op::Identity:
      return append(node.input(0));
    case Op::Reshape: {
      const graph::Type& from = graph_.value(node.input(0)).type;
      const graph::Type& to = graph_.value(node.outputs[0]).type;
      const bool only_ones = from.has_static_shape() && to.has_static_shape() && without_ones(from.static_shape()) == without_ones(to.static_shape());
      return only_ones && append(node.input(0));
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<VectorExpression> derive_expression(const Graph& graph, ValueId value, const std::map<ValueId, uint32_t>& parameter_index) {
  return Deriver(graph, parameter_index).run(value);
}

}  // namespace tiffin::plan
