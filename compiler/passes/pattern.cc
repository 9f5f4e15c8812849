// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pattern.h"

#include <cmath>

#include "compiler/graph/text_form.h"

namespace tiffin::passes {

using graph::kNone;
using graph::NodeId;

Pattern::Pattern(graph::Graph& graph) : graph_(graph), read_count_(graph.value_capacity(), 0), last_reader_(graph.value_capacity(), kNone) {
  for (size_t id = 0; id < graph.node_capacity(); ++id) {
    const Node& node = graph.node(static_cast<NodeId>(id));
    if (node.is_erased) continue;
    for (const ValueId input : node.inputs) {
      if (input == kNone) continue;
      ++read_count_[static_cast<size_t>(input)];
      last_reader_[static_cast<size_t>(input)] = static_cast<NodeId>(id);
    }
  }
  for (const ValueId output : graph.outputs()) read_count_[static_cast<size_t>(output)] += 2;
}

const Node* Pattern::producer(ValueId value, Op op) const {
  if (value == kNone || graph_.value(value).producer == kNone) return nullptr;
  const Node& node = graph_.node(graph_.value(value).producer);
  return node.op == op && node.outputs.size() == 1 ? &node : nullptr;
}

NodeId Pattern::only_reader(ValueId value) const {
  const auto index = static_cast<size_t>(value);
  return value != kNone && index < read_count_.size() && read_count_[index] == 1 ? last_reader_[index] : kNone;
}

std::optional<double> Pattern::number(ValueId value) const {
  const graph::Tensor* tensor = graph_.tensor_of(value);
  if (tensor == nullptr || tensor->num_elements() < 1) return std::nullopt;
  if (!is_standard_float(tensor->dtype()) && !is_standard_int(tensor->dtype())) return std::nullopt;
  const bool is_single = tensor->num_elements() == 1;
  const bool is_constant = graph_.value(value).kind == graph::ValueKind::Constant;
  if (!is_single && !(is_constant && graph::is_uniform(*tensor))) return std::nullopt;
  const Extents one(tensor->rank(), 1);
  const graph::Tensor first(tensor->dtype(), one, tensor->bytes().first(tensor->bytes().size() / static_cast<size_t>(tensor->num_elements())),
                            nullptr);
  return is_standard_int(tensor->dtype()) ? static_cast<double>(first.to_int64s()[0]) : first.to_doubles()[0];
}

bool Pattern::is_near(DType dtype, double actual, double expected) const {
  const double tolerance = dtype == DType::BFloat16 ? 8e-3 : dtype == DType::Float16 ? 1e-3 : 1e-6;
  return std::fabs(actual - expected) <= tolerance * std::fabs(expected);
}

bool Pattern::is_number(ValueId value, double expected) const {
  const std::optional<double> actual = number(value);
  return actual.has_value() && is_near(dtype(value), *actual, expected);
}

Extents Pattern::kept_axes(const Node& reduction) const {
  const graph::Tensor* axes = graph_.tensor_of(reduction.input(1));
  if (axes == nullptr || reduction.int_attribute("keepdims", 1) == 0) return {};
  return axes->to_int64s();
}

Extents Pattern::shape(ValueId value) const {
  const graph::Type& type = graph_.value(value).type;
  return type.has_static_shape() ? type.static_shape() : Extents();
}

void freeze(graph::Graph& graph, const std::vector<ValueId>& values) {
  for (const ValueId id : values) {
    if (id != kNone && graph.value(id).kind == graph::ValueKind::Parameter) graph.value(id).is_frozen = true;
  }
}

}  // namespace tiffin::passes
