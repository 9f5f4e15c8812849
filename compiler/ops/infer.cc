// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/infer.h"

#include <algorithm>
#include <vector>

#include "compiler/ops/catalogue.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;

// Bodies nested deeper than this are refused rather than followed down the stack.
constexpr int kMaxDepth = 32;

std::string range_text(int minimum, int maximum) {
  if (maximum < 0) return std::to_string(minimum) + " or more";
  return minimum == maximum ? std::to_string(minimum) : std::to_string(minimum) + " to " + std::to_string(maximum);
}

Status check_arity(const Graph& graph, const Node& node, const OperatorRow& row) {
  const auto inputs = static_cast<int>(node.inputs.size());
  const auto outputs = static_cast<int>(node.outputs.size());
  if (inputs < row.min_inputs || (row.max_inputs >= 0 && inputs > row.max_inputs)) {
    return node_error(Code::InvalidModel, graph, node, "%d inputs, expected %s (arity.c1)", inputs,
                      range_text(row.min_inputs, row.max_inputs).c_str());
  }
  if (outputs < row.min_outputs || (row.max_outputs >= 0 && outputs > row.max_outputs)) {
    return node_error(Code::InvalidModel, graph, node, "%d outputs, expected %s (arity.c2)", outputs,
                      range_text(row.min_outputs, row.max_outputs).c_str());
  }
  const int required = row.max_inputs < 0 && row.min_inputs > 0 ? inputs : row.min_inputs;
  for (int i = 0; i < required; ++i) {
    if (node.inputs[static_cast<size_t>(i)] != graph::kNone) continue;
    return node_error(Code::InvalidModel, graph, node, "input %d is omitted, expected a value (arity.c3)", i);
  }
  return {};
}

const char* kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::Int:
      return "an integer";
    case AttributeKind::Float:
      return "a float";
    case AttributeKind::String:
      return "a string";
    case AttributeKind::Ints:
      return "a list of integers";
    case AttributeKind::Floats:
      return "a list of floats";
    case AttributeKind::Strings:
      return "a list of strings";
    case AttributeKind::Tensor:
      return "a tensor";
    case AttributeKind::Graph:
      return "a graph";
  }
  return "";
}

AttributeKind kind_of(const graph::Attribute& attribute) {
  constexpr AttributeKind kKinds[] = {AttributeKind::Int,    AttributeKind::Float,   AttributeKind::String, AttributeKind::Ints,
                                      AttributeKind::Floats, AttributeKind::Strings, AttributeKind::Tensor, AttributeKind::Graph};
  static_assert(sizeof(kKinds) / sizeof(kKinds[0]) == std::variant_size_v<graph::Attribute>);
  return kKinds[attribute.index()];
}

Status check_attributes(const Graph& graph, const Node& node, const OperatorRow& row) {
  for (const AttributeRow& expected : row.attributes()) {
    if (!expected.is_required || node.has_attribute(expected.name)) continue;
    return node_error(Code::InvalidModel, graph, node, "attribute '%s' is missing, expected %s (attribute.c1)", expected.name,
                      kind_name(expected.kind));
  }
  for (const auto& [name, attribute] : node.attributes) {
    const AttributeRow* expected = row.find_attribute(name);
    if (expected == nullptr) {
      if (node.op >= graph::kFirstInternalOp) continue;
      return node_error(Code::InvalidModel, graph, node, "attribute '%s' is none of this operator's (attribute.c2)", name.c_str());
    }
    const AttributeKind actual = kind_of(attribute);
    if (actual != expected->kind) {
      return node_error(Code::InvalidModel, graph, node, "attribute '%s' is %s, expected %s (attribute.c3)", name.c_str(), kind_name(actual),
                        kind_name(expected->kind));
    }
    const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (body != nullptr && *body == nullptr) {
      return node_error(Code::InvalidModel, graph, node, "attribute '%s' is an empty graph (attribute.c4)", name.c_str());
    }
  }
  return {};
}

// Types that ONNX has and Tiffin does not compute with; where the catalogue leaves one out, the model is sound but not supported.
bool is_exotic(DType dtype) { return dtype != DType::Undefined && dtype != DType::Bool && !is_standard_float(dtype) && !is_standard_int(dtype); }

Status check_dtypes(const Graph& graph, const Node& node, const OperatorRow& row) {
  DType bound[128] = {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == graph::kNone) continue;
    const graph::Value& input = graph.value(node.inputs[i]);
    const DType dtype = input.type.dtype;
    if (dtype == DType::Undefined) continue;
    const InputRow expected = row.input_row(i);
    if (!contains(expected.allowed, dtype)) {
      return node_error(is_exotic(dtype) ? Code::UnsupportedType : Code::InvalidModel, graph, node,
                        "input %zu '%s' is %s, expected one of %s (dtype.c3)", i, input.name.c_str(), std::string(dtype_name(dtype)).c_str(),
                        to_string(expected.allowed).c_str());
    }
    DType& other = bound[static_cast<unsigned char>(expected.binding) & 127];
    if (expected.binding == 0) continue;
    if (other == DType::Undefined) other = dtype;
    if (other == dtype) continue;
    return node_error(Code::InvalidModel, graph, node, "input %zu '%s' is %s, expected %s as the inputs before it (dtype.c4)", i, input.name.c_str(),
                      std::string(dtype_name(dtype)).c_str(), std::string(dtype_name(other)).c_str());
  }
  return {};
}

Status infer_node_at(Graph& graph, graph::NodeId id, int depth) {
  const Node& node = graph.node(id);
  const OperatorRow& row = operator_row(node.op);
  TIFFIN_TRY(check_arity(graph, node, row));
  TIFFIN_TRY(check_attributes(graph, node, row));
  TIFFIN_TRY(check_dtypes(graph, node, row));
  Inference inference(graph, id, depth);
  return row.infer(inference);
}

// Inputs and parameters of a model can be as broken as its nodes.
Status check_sources(const Graph& graph) {
  for (size_t i = 0; i < graph.value_capacity(); ++i) {
    const graph::Value& value = graph.value(static_cast<graph::ValueId>(i));
    if (value.is_erased || value.kind == graph::ValueKind::Result || !value.type.has_static_shape()) continue;
    const int64_t count = value.type.num_elements();
    uint64_t bytes = 0;
    const bool has_size = dtype_bits(value.type.dtype) != 0;
    if (count >= 0 && (!has_size || (storage_bytes(value.type.dtype, static_cast<uint64_t>(count), &bytes) && bytes <= INT64_MAX))) continue;
    return error(Code::InvalidModel, "value '%s' is %s, more than an int64 can count (type.overflow)", value.name.c_str(),
                 graph::to_string(value.type).c_str());
  }
  return {};
}

Status infer_types_at(Graph& graph, int depth) {
  TIFFIN_TRY(check_sources(graph));
  for (const graph::NodeId id : graph.topological_order()) TIFFIN_TRY(infer_node_at(graph, id, depth));
  return {};
}

bool agree(const graph::Type& declared, const graph::Type& inferred) {
  if (declared.dtype != DType::Undefined && inferred.dtype != DType::Undefined && declared.dtype != inferred.dtype) return false;
  if (!declared.has_rank() || !inferred.has_rank()) return true;
  const auto dims_agree = [](const graph::Dim& a, const graph::Dim& b) { return !a.is_static() || !b.is_static() || a.value() == b.value(); };
  return std::equal(declared.shape->begin(), declared.shape->end(), inferred.shape->begin(), inferred.shape->end(), dims_agree);
}

}  // namespace

Status infer_body(const Inference& inference, Graph& body, size_t* captured) {
  if (inference.depth() >= kMaxDepth) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "bodies are nested more than %d deep (body.c1)", kMaxDepth);
  }
  for (size_t i = 0; i < body.value_capacity(); ++i) {
    graph::Value& value = body.value(static_cast<graph::ValueId>(i));
    if (value.kind != graph::ValueKind::Outer) continue;
    if (*captured >= inference.node().inputs.size()) {
      return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                        "the body reads '%s', which is none of the captured inputs (body.c2)", value.name.c_str());
    }
    value.type = inference.type((*captured)++);
  }
  return infer_types_at(body, inference.depth() + 1);
}

Status infer_node(Graph& graph, graph::NodeId id) { return infer_node_at(graph, id, 0); }

Status infer_types(Graph& graph) { return infer_types_at(graph, 0); }

Status infer_declared_types(Graph& graph) {
  std::vector<graph::Type> declared;
  for (size_t i = 0; i < graph.value_capacity(); ++i) declared.push_back(graph.value(static_cast<graph::ValueId>(i)).type);
  TIFFIN_TRY(infer_types(graph));
  for (size_t i = 0; i < declared.size(); ++i) {
    const graph::Value& value = graph.value(static_cast<graph::ValueId>(i));
    if (value.is_erased || value.kind != graph::ValueKind::Result || agree(declared[i], value.type)) continue;
    return node_error(Code::InvalidModel, graph, graph.node(value.producer), "result '%s' is declared as %s, the operator gives %s (declared.c1)",
                      value.name.c_str(), graph::to_string(declared[i]).c_str(), graph::to_string(value.type).c_str());
  }
  return {};
}

}  // namespace tiffin::ops
