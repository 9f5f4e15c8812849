// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/result_dtype.h"

namespace tiffin::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;
using graph::Tensor;

DType input_dtype(const Graph& graph, const Node& node, size_t index) {
  const graph::ValueId id = node.input(index);
  return id == graph::kNone ? DType::Undefined : graph.value(id).type.dtype;
}

DType attribute_dtype(const Node& node, const char* key, DType otherwise) {
  const int64_t code = node.int_attribute(key, 0);
  return code > 0 && code < kDTypeCount ? static_cast<DType>(code) : otherwise;
}

// Results of a body come after what it carries besides them: the condition of a Loop.
DType body_dtype(const Node& node, const char* key, size_t index) {
  const auto found = node.attributes.find(key);
  const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<Graph>>(&found->second);
  if (body == nullptr || index >= (*body)->outputs().size()) return DType::Undefined;
  return (*body)->value((*body)->outputs()[index]).type.dtype;
}

DType quantized_dtype(const Graph& graph, const Node& node) {
  const DType zero_point = input_dtype(graph, node, 2);
  return zero_point != DType::Undefined ? zero_point : attribute_dtype(node, "output_dtype", DType::UInt8);
}

DType filled_dtype(const Node& node) {
  const auto found = node.attributes.find("value");
  const auto* value = found == node.attributes.end() ? nullptr : std::get_if<Tensor>(&found->second);
  return value == nullptr ? DType::Float32 : value->dtype();
}

}  // namespace

DType result_dtype(const Graph& graph, const Node& node, size_t output_index) {
  const bool is_first = output_index == 0;
  switch (node.op) {
    case Op::And:
    case Op::Equal:
    case Op::Greater:
    case Op::GreaterOrEqual:
    case Op::IsInf:
    case Op::IsNaN:
    case Op::Less:
    case Op::LessOrEqual:
    case Op::Not:
    case Op::Or:
    case Op::Xor:
      return DType::Bool;
    case Op::ArgMax:
    case Op::ArgMin:
    case Op::NonMaxSuppression:
    case Op::NonZero:
    case Op::Shape:
    case Op::Size:
      return DType::Int64;
    case Op::ConvInteger:
    case Op::MatMulInteger:
      return DType::Int32;
    case Op::Dropout:
      return is_first ? input_dtype(graph, node, 0) : DType::Bool;
    case Op::MaxPool:
    case Op::TopK:
      return is_first ? input_dtype(graph, node, 0) : DType::Int64;
    case Op::Cast:
      return attribute_dtype(node, "to", DType::Undefined);
    case Op::EyeLike:
      return attribute_dtype(node, "dtype", input_dtype(graph, node, 0));
    case Op::ConstantOfShape:
      return filled_dtype(node);
    case Op::QuantizeLinear:
      return quantized_dtype(graph, node);
    case Op::DequantizeLinear:
      return attribute_dtype(node, "output_dtype", input_dtype(graph, node, 1));
    case Op::DynamicQuantizeLinear:
      return output_index == 1 ? DType::Float32 : DType::UInt8;
    case Op::QLinearConv:
    case Op::QLinearMatMul:
      return input_dtype(graph, node, 7);
    case Op::Where:
      return input_dtype(graph, node, 1);
    case Op::OneHot:
      return input_dtype(graph, node, 2);
    case Op::LayerNormalization:
      return is_first ? input_dtype(graph, node, 0) : DType::Undefined;
    case Op::BatchNormalization:
      return is_first ? input_dtype(graph, node, 0) : input_dtype(graph, node, 3);
    case Op::If:
      return body_dtype(node, "then_branch", output_index);
    case Op::Loop:
      return body_dtype(node, "body", output_index + 1);
    case Op::Scan:
      return body_dtype(node, "body", output_index);
    case Op::Unsupported:
      return DType::Undefined;
    default:
      return input_dtype(graph, node, 0);
  }
}

}  // namespace tiffin::import
