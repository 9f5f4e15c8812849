// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/sink_reshapes.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/op_class.h"
#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

Extents without_ones(Extents shape) {
  std::erase(shape, 1);
  return shape;
}

size_t common_suffix(const Extents& a, const Extents& b) {
  size_t count = 0;
  while (count < a.size() && count < b.size() && a[a.size() - 1 - count] == b[b.size() - 1 - count]) ++count;
  return count;
}

// The shape in which an operand `own`, which broadcasts to `to`, broadcasts alike to `from`, another shape of as many elements. Nothing when there
// is none.
std::optional<Extents> shape_before(const Extents& own, const Extents& to, const Extents& from) {
  if (own.size() > to.size()) return std::nullopt;
  if (graph::num_elements(own) == 1) return Extents();
  if (own == to) return from;
  Extents wide = own;
  wide.erase(wide.begin(), std::find_if(wide.begin(), wide.end(), [](int64_t extent) { return extent != 1; }));
  if (wide.size() <= common_suffix(from, to)) return wide;
  if (without_ones(from) != without_ones(to)) return std::nullopt;
  // The axes of more than one element correspond in their order.
  Extents padded(to.size() - own.size(), 1), before(from.size(), 1);
  padded.insert(padded.end(), own.begin(), own.end());
  size_t next = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == 1) continue;
    while (to[next] == 1) ++next;
    before[axis] = padded[next++];
  }
  return before;
}

// What the Reshape reads, when it can move behind its one reader.
ValueId source_of(const Pattern& pattern, ValueId value) {
  const Node* reshape = pattern.producer(value, Op::Reshape);
  if (reshape == nullptr || !pattern.has_one_reader(value)) return kNone;
  const ValueId source = reshape->inputs[0];
  const NodeId producer = pattern.graph().value(source).producer;
  if (producer == kNone || pattern.shape(source).empty()) return kNone;
  const ops::OpClass before = ops::op_class(pattern.graph().node(producer).op);
  return before == ops::OpClass::Elementwise || before == ops::OpClass::Heavy ? source : kNone;
}

// Another operand in the shape of `from`. A computed one of full size only follows from a Reshape of its own, which then vanishes.
std::optional<ValueId> operand_before(Rewriter& r, const Pattern& pattern, ValueId operand, const Extents& to, const Extents& from) {
  const Extents own = pattern.shape(operand);
  if (own == to && !pattern.graph().is_constant(operand)) {
    const Node* reshape = pattern.producer(operand, Op::Reshape);
    const bool fits = reshape != nullptr && pattern.shape(reshape->inputs[0]) == from;
    return fits ? std::optional<ValueId>(reshape->inputs[0]) : std::nullopt;
  }
  const std::optional<Extents> shape = shape_before(own, to, from);
  if (!shape.has_value()) return std::nullopt;
  return graph::num_elements(own) == 1 && own.size() <= from.size() ? operand : r.reshape(operand, "operand", *shape);
}

// The node computed before the Reshape of one of its operands, reshaped; kNone when it stays.
ValueId sink(Rewriter& r, const Pattern& pattern) {
  const Node node = r.node();
  const Extents to = pattern.shape(node.outputs[0]);
  for (const ValueId input : node.inputs) {
    if (input == kNone || pattern.shape(input) != to) continue;
    const ValueId source = source_of(pattern, input);
    if (source == kNone) continue;
    const Extents from = pattern.shape(source);
    std::vector<ValueId> operands;
    for (const ValueId other : node.inputs) {
      std::optional<ValueId> operand = other;
      if (other == input) operand = source;
      if (other != input && other != kNone) operand = operand_before(r, pattern, other, to, from);
      if (!operand.has_value()) break;
      operands.push_back(*operand);
    }
    if (operands.size() != node.inputs.size()) continue;
    return r.reshape(r.add(node.op, "before", operands, node.attributes), "reshaped", to);
  }
  return kNone;
}

Status walk(Graph& graph, bool* out_has_changed) {
  const Pattern pattern(graph);
  *out_has_changed = false;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (ops::op_class(node.op) != ops::OpClass::Elementwise || node.outputs.size() != 1) continue;
    if (!graph.value(node.outputs[0]).type.has_static_shape()) continue;
    Rewriter rewriter(graph, id);
    const ValueId result = node.outputs[0], sunk = sink(rewriter, pattern);
    TIFFIN_TRY(rewriter.take_status());
    if (sunk == kNone) continue;
    graph.replace_uses(result, sunk);
    *out_has_changed = true;
  }
  graph.erase_dead();
  return {};
}

}  // namespace

Status sink_reshapes(Graph& graph, PassContext&) {
  // Each round moves every Reshape over one operator at most: no more rounds than operators.
  bool has_changed = true;
  for (size_t left = graph.topological_order().size(); has_changed && left > 0; --left) TIFFIN_TRY(walk(graph, &has_changed));
  return {};
}

}  // namespace tiffin::passes
