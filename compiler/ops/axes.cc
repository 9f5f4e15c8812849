// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/axes.h"

#include <algorithm>
#include <numeric>

#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;

const graph::Shape& data_shape(const Graph& graph, const Node& node) { return *graph.value(node.inputs[0]).type.shape; }

std::vector<int64_t> all_axes(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The `axes` of a reduction as written; empty when none are named.
Result<std::vector<int64_t>> named_axes(const Graph& graph, const Node& node) {
  if (node.op == Op::MeanVarianceNormalization) return node.ints_attribute("axes", {0, 2, 3});
  if (node.op == Op::ArgMax || node.op == Op::ArgMin) return std::vector<int64_t>{node.int_attribute("axis", 0)};
  if (node.input(1) == graph::kNone) return std::vector<int64_t>{};
  return constant_ints(graph, node, 1, "axes");
}

}  // namespace

Result<int64_t> normalized_axis(const Graph& graph, const Node& node, int64_t axis, int64_t rank, const char* what) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return node_error(Code::InvalidModel, graph, node, "'%s' is %lld, expected a number in [%lld, %lld) (axis.c1)", what, static_cast<long long>(axis),
                    static_cast<long long>(-rank), static_cast<long long>(rank));
}

Result<std::vector<int64_t>> normalized_axes(const Graph& graph, const Node& node, const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t axis : axes) {
    TIFFIN_ASSIGN_OR_RETURN(const int64_t normalized, normalized_axis(graph, node, axis, rank, "axes"));
    if (std::find(out.begin(), out.end(), normalized) != out.end()) {
      return node_error(Code::InvalidModel, graph, node, "'axes' is %s, which names axis %lld twice (axis.c2)", graph::to_string(axes).c_str(),
                        static_cast<long long>(normalized));
    }
    out.push_back(normalized);
  }
  return out;
}

Result<int64_t> axis_attribute(const Graph& graph, const Node& node, const char* key, int64_t otherwise) {
  const auto rank = static_cast<int64_t>(data_shape(graph, node).size());
  return normalized_axis(graph, node, node.int_attribute(key, otherwise), rank, key);
}

Result<std::vector<int64_t>> constant_ints(const Graph& graph, const Node& node, size_t index, const char* what) {
  const graph::Tensor* tensor = graph.tensor_of(node.input(index));
  if (tensor == nullptr) {
    return node_error(Code::UnsupportedOperator, graph, node, "input '%s' is computed at run time, expected a constant (constant.c1)", what);
  }
  if (!is_standard_int(tensor->dtype()) || tensor->rank() > 1) {
    return node_error(Code::InvalidModel, graph, node, "input '%s' is %s, expected a list of integers (constant.c2)", what,
                      graph::to_string(tensor->type()).c_str());
  }
  return tensor->to_int64s();
}

Result<std::vector<int64_t>> reduction_axes(const Graph& graph, const Node& node) {
  auto rank = static_cast<int64_t>(data_shape(graph, node).size());
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> named, named_axes(graph, node));
  if (named.empty()) return node.int_attribute("noop_with_empty_axes", 0) != 0 ? std::vector<int64_t>{} : all_axes(rank);
  // ONNX's reductions of a scalar may name axis 0 or -1, as numpy's do not: there is nothing to reduce.
  if (rank == 0 && std::all_of(named.begin(), named.end(), [](int64_t axis) { return axis == 0 || axis == -1; })) return std::vector<int64_t>{};
  TIFFIN_ASSIGN_OR_RETURN(std::vector<int64_t> axes, normalized_axes(graph, node, named, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool is_reduction_without_axes(const Graph& graph, const Node& node) {
  if (node.int_attribute("noop_with_empty_axes", 0) == 0) return false;
  const graph::Tensor* axes = graph.tensor_of(node.input(1));
  return node.input(1) == graph::kNone || (axes != nullptr && axes->num_elements() == 0);
}

Result<std::vector<int64_t>> squeeze_axes(const Graph& graph, const Node& node) {
  const graph::Shape& shape = data_shape(graph, node);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> axes;
  if (node.input(1) != graph::kNone) {
    TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> named, constant_ints(graph, node, 1, "axes"));
    TIFFIN_ASSIGN_OR_RETURN(axes, normalized_axes(graph, node, named, rank));
    std::sort(axes.begin(), axes.end());
  } else {
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (shape[static_cast<size_t>(axis)] == graph::Dim(1)) axes.push_back(axis);
    }
  }
  for (const int64_t axis : axes) {
    if (may_equal(shape[static_cast<size_t>(axis)], 1)) continue;
    return node_error(Code::ShapeMismatch, graph, node, "axis %lld of %s is not 1 and cannot be squeezed (squeeze.c1)", static_cast<long long>(axis),
                      to_string(shape).c_str());
  }
  return axes;
}

Result<std::vector<int64_t>> unsqueeze_axes(const Graph& graph, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> named, constant_ints(graph, node, 1, "axes"));
  const auto rank = static_cast<int64_t>(data_shape(graph, node).size() + named.size());
  TIFFIN_ASSIGN_OR_RETURN(std::vector<int64_t> axes, normalized_axes(graph, node, named, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace tiffin::ops
