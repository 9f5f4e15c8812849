// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/axis_order.h"

#include <algorithm>

#include "compiler/ops/op_class.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Tensor;

bool is_reduction(Op op) { return op == Op::ReduceSum || op == Op::ReduceMean || op == Op::ReduceMax || op == Op::ReduceMin || op == Op::ReduceProd; }

// Which input lists axes, for operators whose axes are an input.
size_t axes_input(Op op) { return op == Op::Slice ? 3 : 1; }

bool has_constant_ints(const Graph& graph, const Node& node, size_t i) { return graph.tensor_of(node.input(i)) != nullptr; }

// New axis k is old axis permutation[k], so the old axis `a` is found where permutation says a.
Extents renamed(const Extents& axes, const Extents& permutation) {
  const Extents inverse = inverse_permutation(permutation);
  Extents out;
  for (const int64_t axis : axes) {
    const int64_t positive = axis < 0 ? axis + static_cast<int64_t>(permutation.size()) : axis;
    out.push_back(inverse[static_cast<size_t>(positive)]);
  }
  return out;
}

Extents reordered_pads(const Extents& pads, const Extents& permutation) {
  const size_t rank = permutation.size();
  Extents out(2 * rank, 0);
  for (size_t k = 0; k < rank; ++k) {
    out[k] = pads[static_cast<size_t>(permutation[k])];
    out[rank + k] = pads[rank + static_cast<size_t>(permutation[k])];
  }
  return out;
}

}  // namespace

bool is_data_input(const Node& node, size_t i) {
  if (node.op == Op::Clip || node.op == Op::Pad || node.op == Op::Slice || is_reduction(node.op)) return i == 0;
  return true;
}

bool can_reorder_axes(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || !graph.value(node.outputs[0]).type.has_static_shape()) return false;
  const graph::Type& type = graph.value(node.outputs[0]).type;
  if (type.rank() < 2) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone && !graph.value(node.inputs[i]).type.has_static_shape()) return false;
  }
  if (ops::op_class(node.op) == ops::OpClass::Elementwise) return true;
  switch (node.op) {
    case Op::Concat:
      return true;
    case Op::Pad: {
      const Tensor* pads = graph.tensor_of(node.input(1));
      return pads != nullptr && pads->num_elements() == 2 * static_cast<int64_t>(type.rank()) && node.input(3) == kNone;
    }
    case Op::Slice:
      return has_constant_ints(graph, node, 3);
    default:
      return is_reduction(node.op) && node.int_attribute("keepdims", 1) != 0 && has_constant_ints(graph, node, 1);
  }
}

void reorder_axes(Graph& graph, graph::NodeId id, const Extents& permutation) {
  Node& node = graph.node(id);
  Rewriter rewriter(graph, id);
  if (node.op == Op::Concat) {
    node.attributes["axis"] = renamed({node.int_attribute("axis", 0)}, permutation)[0];
  } else if (node.op == Op::Pad) {
    node.inputs[1] = rewriter.ints("pads", reordered_pads(graph.tensor_of(node.inputs[1])->to_int64s(), permutation));
  } else if (node.op == Op::Slice || is_reduction(node.op)) {
    const size_t i = axes_input(node.op);
    Extents axes = renamed(graph.tensor_of(node.inputs[i])->to_int64s(), permutation);
    if (node.op != Op::Slice) std::sort(axes.begin(), axes.end());
    node.inputs[i] = rewriter.ints("axes", axes);
  }
}

bool can_reduce_in_order(const Graph& graph, const Node& node, const Extents& order) {
  if (!is_reduction(node.op) || node.int_attribute("keepdims", 1) != 0 || !has_constant_ints(graph, node, 1)) return false;
  const Extents axes = graph.tensor_of(node.inputs[1])->to_int64s();
  int64_t last = -1;
  for (const int64_t axis : order) {
    if (std::count(axes.begin(), axes.end(), axis) != 0) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool moves_only_ones(const Extents& permutation, const Extents& shape) {
  int64_t last = -1;
  for (const int64_t axis : permutation) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Extents inverse_permutation(const Extents& permutation) {
  Extents inverse(permutation.size());
  for (size_t k = 0; k < permutation.size(); ++k) inverse[static_cast<size_t>(permutation[k])] = static_cast<int64_t>(k);
  return inverse;
}

Extents compose(const Extents& first, const Extents& second) {
  Extents both;
  for (const int64_t axis : second) both.push_back(first[static_cast<size_t>(axis)]);
  return both;
}

bool is_identity(const Extents& permutation) {
  for (size_t k = 0; k < permutation.size(); ++k) {
    if (permutation[k] != static_cast<int64_t>(k)) return false;
  }
  return true;
}

}  // namespace tiffin::passes
