// SPDX-License-Identifier: Apache-2.0
// Movements that move nothing, or can be one instead of two.
#include <algorithm>

#include "compiler/passes/axis_order.h"
#include "compiler/passes/simplifications.h"

namespace tiffin::passes {
namespace {

using graph::kNone;

bool is_reduction(Op op) { return op == Op::ReduceSum || op == Op::ReduceMean || op == Op::ReduceMax || op == Op::ReduceMin || op == Op::ReduceProd; }

// Reshape(Reduce(x, keepdims=0)) that puts the reduced axes back.
ValueId keep_dimensions(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0);
  if (r.graph().value(x).producer == kNone || !pattern.has_one_reader(x)) return kNone;
  const Node& reduction = r.graph().node(r.graph().value(x).producer);
  const graph::Tensor* axes = r.graph().tensor_of(reduction.input(1));
  if (!is_reduction(reduction.op) || axes == nullptr || reduction.int_attribute("keepdims", 1) != 0) return kNone;
  Extents kept = r.shape(reduction.inputs[0]);
  for (const int64_t axis : axes->to_int64s()) {
    if (axis < 0) return kNone;
    kept[static_cast<size_t>(axis)] = 1;
  }
  if (kept != r.shape(r.node().outputs[0])) return kNone;
  return r.reduce(reduction.op, reduction.inputs[0], "kept", axes->to_int64s(), true);
}

// Reshape(Transpose(x)) that adds or removes axes of extent 1 alone: as Transpose(Reshape(x)), so that Reshapes meet Reshapes and Transposes meet
// Transposes. Each axis of 1 goes with the axis before it.
ValueId reshape_before_transpose(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0);
  const Node* transpose = pattern.producer(x, Op::Transpose);
  if (transpose == nullptr || !pattern.has_one_reader(x)) return kNone;
  const Extents permutation = permutation_of(r.graph(), *transpose), from = r.shape(x), to = r.shape(r.node().outputs[0]);
  std::vector<std::pair<int64_t, size_t>> axes;  // of the result: where it comes from, its number
  size_t next = 0;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    int64_t source = axes.empty() ? -1 : axes.back().first;
    if (to[axis] != 1) {
      while (next < from.size() && from[next] == 1) ++next;
      if (next == from.size() || from[next] != to[axis]) return kNone;
      source = permutation[next++];
    }
    axes.emplace_back(source, axis);
  }
  std::stable_sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Extents before, order(to.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    before.push_back(to[axes[k].second]);
    order[axes[k].second] = static_cast<int64_t>(k);
  }
  return r.transpose(r.reshape(transpose->inputs[0], "before", before), "transposed", order);
}

// The elements of an optional constant operand; `otherwise` where it is omitted, nothing where it is computed.
std::optional<Extents> ints_of(const Rewriter& r, const graph::Graph& graph, size_t i, Extents otherwise) {
  if (r.node().input(i) == kNone) return otherwise;
  const graph::Tensor* tensor = graph.tensor_of(r.node().input(i));
  return tensor == nullptr ? std::nullopt : std::optional<Extents>(tensor->to_int64s());
}

}  // namespace

Extents permutation_of(const graph::Graph& graph, const Node& transpose) {
  Extents permutation = transpose.ints_attribute("perm");
  if (!permutation.empty()) return permutation;
  for (auto axis = static_cast<int64_t>(graph.value(transpose.inputs[0]).type.rank()); axis-- > 0;) permutation.push_back(axis);
  return permutation;
}

ValueId simplify_reshape(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0);
  const Extents to = r.shape(r.node().outputs[0]);
  if (r.shape(x) == to) return x;
  if (const Node* inner = pattern.producer(x, Op::Reshape)) return r.reshape(inner->inputs[0], "direct", to);
  const ValueId kept = keep_dimensions(r, pattern);
  return kept != kNone ? kept : reshape_before_transpose(r, pattern);
}

ValueId simplify_transpose(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0), result = r.node().outputs[0];
  const Extents permutation = permutation_of(r.graph(), r.node());
  if (is_identity(permutation)) return x;
  if (moves_only_ones(permutation, r.shape(x))) return r.reshape(x, "view", r.shape(result));
  const Node* inner = pattern.producer(x, Op::Transpose);
  if (inner == nullptr) return kNone;
  return r.transpose(inner->inputs[0], "direct", compose(permutation_of(r.graph(), *inner), permutation));
}

// A Slice of a Transpose that nothing else reads moves before it: less is transposed.
ValueId simplify_slice(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0), result = r.node().outputs[0];
  const Node* inner = pattern.producer(x, Op::Transpose);
  const auto steps = ints_of(r, r.graph(), 4, {1});
  const bool is_forward = steps.has_value() && std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step > 0; });
  if (is_forward && r.shape(x) == r.shape(result)) return x;
  const auto axes = ints_of(r, r.graph(), 3, {});
  if (inner == nullptr || !axes.has_value() || axes->empty() || !pattern.has_one_reader(x)) return kNone;
  const Extents permutation = permutation_of(r.graph(), *inner);
  const ValueId source = inner->inputs[0];
  Extents moved;
  for (const int64_t axis : *axes) moved.push_back(permutation[static_cast<size_t>(axis < 0 ? axis + r.rank(x) : axis)]);
  std::vector<ValueId> inputs = r.node().inputs;
  inputs[0] = source;
  inputs[3] = r.ints("sliced/axes", moved);
  return r.transpose(r.add(Op::Slice, "sliced", inputs), "transposed", permutation);
}

// One position, known: a Slice, which needs no check at run time. An index that is a Parameter becomes part of the program.
ValueId simplify_gather(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0), index = r.input(1);
  const std::optional<double> number = pattern.number(index);
  if (!number.has_value() || graph::num_elements(r.shape(index)) != 1 || r.rank(x) == 0) return kNone;
  int64_t axis = r.node().int_attribute("axis", 0);
  axis = axis < 0 ? axis + r.rank(x) : axis;
  const int64_t extent = r.shape(x)[static_cast<size_t>(axis)];
  auto position = static_cast<int64_t>(*number);
  position = position < 0 ? position + extent : position;
  if (position < 0 || position >= extent) return kNone;
  freeze(r.graph(), {index});
  return r.reshape(r.slice(x, "row", axis, position, position + 1), "row_shaped", r.shape(r.node().outputs[0]));
}

ValueId simplify_copy(Rewriter& r, const Pattern&) {
  const ValueId x = r.input(0);
  const bool is_same = r.shape(x) == r.shape(r.node().outputs[0]);
  switch (r.node().op) {
    case Op::Expand:
      return is_same ? x : kNone;
    case Op::Concat:
      return r.node().inputs.size() == 1 ? x : kNone;
    case Op::Pad: {
      const auto pads = ints_of(r, r.graph(), 1, {});
      const bool is_empty = pads.has_value() && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
      return is_empty ? x : kNone;
    }
    default:
      return kNone;
  }
}

}  // namespace tiffin::passes
