// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/rewriter.h"

#include "compiler/ops/infer.h"

namespace tiffin::passes {

using graph::Tensor;

namespace {

template <class T>
Tensor scalar(DType dtype, double value) {
  const T element = static_cast<T>(value);
  return Tensor::from<T>(dtype, {}, {&element, 1});
}

Tensor scalar_of(DType dtype, double value) {
  switch (dtype) {
    case DType::Float64:
      return scalar<double>(dtype, value);
    case DType::Float16:
      return scalar<uint16_t>(dtype, graph::float_to_half(static_cast<float>(value)));
    case DType::BFloat16:
      return scalar<uint16_t>(dtype, graph::float_to_bfloat16(static_cast<float>(value)));
    case DType::Int8:
      return scalar<int8_t>(dtype, value);
    case DType::Int16:
      return scalar<int16_t>(dtype, value);
    case DType::Int32:
      return scalar<int32_t>(dtype, value);
    case DType::Int64:
      return scalar<int64_t>(dtype, value);
    case DType::Bool:
    case DType::UInt8:
      return scalar<uint8_t>(dtype, value);
    case DType::UInt16:
      return scalar<uint16_t>(dtype, value);
    case DType::UInt32:
      return scalar<uint32_t>(dtype, value);
    case DType::UInt64:
      return scalar<uint64_t>(dtype, value);
    default:
      return scalar<float>(DType::Float32, value);
  }
}

std::string prefix_of(const graph::Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (const ValueId output : node.outputs) {
    if (output != graph::kNone) return graph.value(output).name;
  }
  return std::string(graph::op_name(node.op));
}

}  // namespace

Rewriter::Rewriter(graph::Graph& graph, graph::NodeId id) : graph_(graph), id_(id), prefix_(prefix_of(graph, graph.node(id)) + "/") {}

Extents Rewriter::shape(ValueId value) const {
  const graph::Type& type = graph_.value(value).type;
  return type.has_static_shape() ? type.static_shape() : Extents();
}

ValueId Rewriter::add(Op op, const std::string& part, std::vector<ValueId> inputs, Attributes attributes) {
  const ValueId result = graph_.add_node(op, prefix_ + part, std::move(inputs), std::move(attributes));
  if (!status_.is_ok()) return result;
  status_ = ops::infer_node(graph_, graph_.value(result).producer);
  return result;
}

ValueId Rewriter::constant(const std::string& part, Tensor tensor) { return graph_.add_constant(prefix_ + part, std::move(tensor)); }

ValueId Rewriter::number(DType dtype, double value) { return constant("number", scalar_of(dtype, value)); }

ValueId Rewriter::ints(const std::string& part, const Extents& values) { return constant(part, Tensor::int64s(values)); }

ValueId Rewriter::reshape(ValueId value, const std::string& part, const Extents& to) {
  if (!is_ok() || shape(value) == to) return value;
  return add(Op::Reshape, part, {value, ints(part + "/shape", to)}, {{"allowzero", int64_t{1}}});
}

ValueId Rewriter::transpose(ValueId value, const std::string& part, const Extents& permutation) {
  bool moves = false;
  for (size_t i = 0; i < permutation.size(); ++i) moves = moves || permutation[i] != static_cast<int64_t>(i);
  return moves ? add(Op::Transpose, part, {value}, {{"perm", permutation}}) : value;
}

ValueId Rewriter::slice(ValueId value, const std::string& part, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  return add(Op::Slice, part,
             {value, ints(part + "/starts", {begin}), ints(part + "/ends", {end}), ints(part + "/axes", {axis}), ints(part + "/steps", {step})});
}

ValueId Rewriter::expand(ValueId value, const std::string& part, const Extents& to) {
  if (!is_ok() || shape(value) == to) return value;
  return add(Op::Expand, part, {value, ints(part + "/shape", to)});
}

ValueId Rewriter::concat(std::vector<ValueId> values, const std::string& part, int64_t axis) {
  return values.size() == 1 ? values[0] : add(Op::Concat, part, std::move(values), {{"axis", axis}});
}

ValueId Rewriter::cast(ValueId value, const std::string& part, DType to) {
  if (!is_ok() || dtype(value) == to) return value;
  return add(Op::Cast, part, {value}, {{"to", static_cast<int64_t>(to)}});
}

ValueId Rewriter::reduce(Op op, ValueId value, const std::string& part, const Extents& axes, bool keeps_dims) {
  if (axes.empty()) return value;
  return add(op, part, {value, ints(part + "/axes", axes)}, {{"keepdims", int64_t{keeps_dims}}});
}

}  // namespace tiffin::passes
