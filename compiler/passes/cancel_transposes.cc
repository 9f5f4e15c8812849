// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/cancel_transposes.h"

#include <algorithm>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/passes/axis_order.h"
#include "compiler/passes/simplifications.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

// Operators that read and write each other's results in one order of axes, all of one rank.
struct Region {
  std::vector<NodeId> nodes;  // producers first
  std::set<NodeId> members;
  size_t rank = 0;
};

// (1) Grow regions of operators that work in any order of axes; (2) for each, try the orders that make a Transpose at its border vanish, and count
// the elements that Transposes at the border move then; (3) take the best order if it moves less than the present one does.
class RegionOrder {
 public:
  RegionOrder(Graph& graph, const Region& region, const std::vector<std::vector<NodeId>>& users) : graph_(graph), region_(region), users_(users) {
    for (const NodeId id : region.nodes) collect(id);
  }

  Status run(bool* out_has_changed) {
    Extents present(region_.rank);
    for (size_t k = 0; k < present.size(); ++k) present[k] = static_cast<int64_t>(k);
    Extents best = present;
    int64_t best_cost = cost(present);
    for (const Extents& order : candidates()) {
      const int64_t moved = cost(order);
      if (moved >= best_cost) continue;
      best = order;
      best_cost = moved;
    }
    if (best == present) return {};
    *out_has_changed = true;
    return reorder(best);
  }

 private:
  bool is_member_value(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    return producer != kNone && region_.members.count(producer) != 0;
  }
  const Node* as_transpose(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op == Op::Transpose ? &node : nullptr;
  }
  // The Transpose that makes an entry; not one of the region's own values, whose order is what changes.
  const Node* transpose_making(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    const Node* transpose = producer == kNone ? nullptr : as_transpose(producer);
    return transpose == nullptr || is_member_value(transpose->inputs[0]) ? nullptr : transpose;
  }
  Extents shape_of(ValueId value) const {
    Extents shape = graph_.value(value).type.static_shape();
    shape.insert(shape.begin(), region_.rank - std::min(region_.rank, shape.size()), 1);
    return shape;
  }
  int64_t size_of(ValueId value) const { return graph_.value(value).type.num_elements(); }
  bool is_output(ValueId value) const { return std::count(graph_.outputs().begin(), graph_.outputs().end(), value) != 0; }

  void collect(NodeId id);
  std::set<Extents> candidates() const;
  int64_t cost(const Extents& order) const;
  int64_t exit_cost(ValueId value, const Extents& order) const;
  ValueId entry(NodeId reader, ValueId value, const Extents& order, Status* out_status);
  Status leave(ValueId value, const std::vector<NodeId>& readers, bool is_left, const Extents& order);
  Status reorder(const Extents& order);

  Graph& graph_;
  const Region& region_;
  const std::vector<std::vector<NodeId>>& users_;
  std::set<ValueId> entries_, exits_;
};

void RegionOrder::collect(NodeId id) {
  const Node& node = graph_.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone && is_data_input(node, i) && !is_member_value(node.inputs[i])) entries_.insert(node.inputs[i]);
  }
  const ValueId result = node.outputs[0];
  const auto& readers = users_[static_cast<size_t>(result)];
  const bool is_read_outside = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return region_.members.count(reader) == 0; });
  if (is_read_outside || is_output(result)) exits_.insert(result);
}

std::set<Extents> RegionOrder::candidates() const {
  std::set<Extents> orders;
  for (const ValueId value : entries_) {
    const Node* transpose = transpose_making(value);
    const bool fits = transpose != nullptr && graph_.value(value).type.rank() == region_.rank;
    if (fits) orders.insert(inverse_permutation(permutation_of(graph_, *transpose)));
  }
  for (const ValueId value : exits_) {
    for (const NodeId reader : users_[static_cast<size_t>(value)]) {
      if (const Node* transpose = as_transpose(reader)) orders.insert(permutation_of(graph_, *transpose));
    }
  }
  return orders;
}

// Elements that Transposes move at the border when the region's values are in `order`.
int64_t RegionOrder::cost(const Extents& order) const {
  int64_t moved = 0;
  for (const ValueId value : entries_) {
    // Another layout of a parameter or constant costs nothing at run time.
    if (graph_.is_constant(value)) continue;
    const Node* transpose = transpose_making(value);
    const bool is_joined = transpose != nullptr && graph_.value(value).type.rank() == region_.rank;
    // An operand of lower rank moves as if it had axes of extent 1 in front.
    const Extents whole = is_joined ? compose(permutation_of(graph_, *transpose), order) : order;
    if (!moves_only_ones(whole, shape_of(is_joined ? transpose->inputs[0] : value))) moved += size_of(value);
  }
  for (const ValueId value : exits_) moved += exit_cost(value, order);
  return moved;
}

// Readers that transpose are counted each, all others read one copy.
int64_t RegionOrder::exit_cost(ValueId value, const Extents& order) const {
  const Extents back = inverse_permutation(order);
  Extents shape;
  for (const int64_t axis : order) shape.push_back(shape_of(value)[static_cast<size_t>(axis)]);
  int64_t moved = 0;
  bool needs_copy = is_output(value);
  for (const NodeId reader : users_[static_cast<size_t>(value)]) {
    if (region_.members.count(reader) != 0 || can_reduce_in_order(graph_, graph_.node(reader), order)) continue;
    const Node* transpose = as_transpose(reader);
    if (transpose == nullptr) needs_copy = true;
    if (transpose != nullptr && !moves_only_ones(compose(back, permutation_of(graph_, *transpose)), shape)) moved += size_of(value);
  }
  return moved + (needs_copy && !moves_only_ones(back, shape) ? size_of(value) : 0);
}

// An outside operand in the new order. Operands of lower rank get axes of extent 1 in front first.
ValueId RegionOrder::entry(NodeId reader, ValueId value, const Extents& order, Status* out_status) {
  Rewriter rewriter(graph_, reader);
  if (size_of(value) == 1) return value;
  Extents shape = rewriter.shape(value);
  ValueId result = value;
  const Node* transpose = transpose_making(value);
  if (shape.size() == region_.rank && transpose != nullptr) {
    const Extents whole = compose(permutation_of(graph_, *transpose), order);
    result = rewriter.transpose(transpose->inputs[0], "reordered", whole);
  } else {
    shape.insert(shape.begin(), region_.rank - shape.size(), 1);
    Extents moved;
    for (const int64_t axis : order) moved.push_back(shape[static_cast<size_t>(axis)]);
    const auto wide_axes = std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; });
    result = wide_axes <= 1 ? rewriter.reshape(value, "reordered", moved)
                            : rewriter.transpose(rewriter.reshape(value, "whole", shape), "reordered", order);
  }
  *out_status = rewriter.take_status();
  return result;
}

// Gives the readers outside the region the value in its old order. Those that transpose come last: what they gave may be the value itself now, and is
// not to be given its old order again.
Status RegionOrder::leave(ValueId value, const std::vector<NodeId>& readers, bool is_left, const Extents& order) {
  const Extents back = inverse_permutation(order);
  Rewriter rewriter(graph_, graph_.value(value).producer);
  ValueId copy = kNone;
  const auto in_old_order = [&] {
    if (copy == kNone) copy = rewriter.transpose(value, "restored", back);
    return copy;
  };
  for (const NodeId reader : readers) {
    if (region_.members.count(reader) != 0 || as_transpose(reader) != nullptr) continue;
    if (can_reduce_in_order(graph_, graph_.node(reader), order)) {
      reorder_axes(graph_, reader, order);
    } else {
      std::vector<ValueId>& inputs = graph_.node(reader).inputs;
      if (std::count(inputs.begin(), inputs.end(), value) != 0) std::replace(inputs.begin(), inputs.end(), value, in_old_order());
    }
  }
  if (is_left) {
    std::vector<ValueId> outputs = graph_.outputs();
    std::replace(outputs.begin(), outputs.end(), value, in_old_order());
    graph_.set_outputs(std::move(outputs));
  }
  for (const NodeId reader : readers) {
    const Node* transpose = as_transpose(reader);
    if (transpose == nullptr) continue;
    const ValueId result = transpose->outputs[0];
    graph_.replace_uses(result, rewriter.transpose(value, "reordered", compose(back, permutation_of(graph_, *transpose))));
  }
  return rewriter.take_status();
}

Status RegionOrder::reorder(const Extents& order) {
  std::map<ValueId, ValueId> entered;
  for (const NodeId id : region_.nodes) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId value = graph_.node(id).inputs[i];
      if (value == kNone || !is_data_input(graph_.node(id), i) || is_member_value(value)) continue;
      if (entered.count(value) == 0) {
        Status status;
        entered[value] = entry(id, value, order, &status);
        TIFFIN_TRY(std::move(status));
      }
      graph_.node(id).inputs[i] = entered[value];
    }
    reorder_axes(graph_, id, order);
    TIFFIN_TRY(ops::infer_node(graph_, id));
  }
  for (const ValueId value : exits_) TIFFIN_TRY(leave(value, users_[static_cast<size_t>(value)], is_output(value), order));
  return {};
}

bool has_rank(const Graph& graph, ValueId value, size_t rank) {
  return value != kNone && graph.value(value).type.has_static_shape() && graph.value(value).type.rank() == rank;
}

// All operators that can take part and are connected to `seed` by values of its rank.
Region grow(const Graph& graph, NodeId seed, const std::vector<std::vector<NodeId>>& users, const std::vector<size_t>& position) {
  Region region;
  region.rank = graph.value(graph.node(seed).outputs[0]).type.rank();
  std::vector<NodeId> work = {seed};
  const auto visit = [&](NodeId id) {
    const Node& node = graph.node(id);
    if (!can_reorder_axes(graph, node) || !has_rank(graph, node.outputs[0], region.rank)) return;
    if (region.members.insert(id).second) work.push_back(id);
  };
  region.members.insert(seed);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    region.nodes.push_back(id);
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node, i) || !has_rank(graph, node.inputs[i], region.rank)) continue;
      if (graph.value(node.inputs[i]).producer != kNone) visit(graph.value(node.inputs[i]).producer);
    }
    for (const NodeId user : users[static_cast<size_t>(node.outputs[0])]) visit(user);
  }
  std::sort(region.nodes.begin(), region.nodes.end(),
            [&](NodeId a, NodeId b) { return position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)]; });
  return region;
}

// Reorders the first region that gains by it.
Status reorder_one(Graph& graph, bool* out_has_changed) {
  const std::vector<NodeId> order = graph.topological_order();
  const auto users = graph.build_users();
  std::vector<size_t> position(graph.node_capacity(), 0);
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = i;
  std::set<NodeId> seen;
  for (const NodeId id : order) {
    if (seen.count(id) != 0 || !can_reorder_axes(graph, graph.node(id))) continue;
    const Region region = grow(graph, id, users, position);
    seen.insert(region.members.begin(), region.members.end());
    TIFFIN_TRY(RegionOrder(graph, region, users).run(out_has_changed));
    if (*out_has_changed) return {};
  }
  return {};
}

}  // namespace

Status cancel_transposes(Graph& graph, PassContext&) {
  // A region between two others can change again when they have; every change lessens what is moved, and the limit guards against a mistake in that.
  bool has_changed = true;
  for (size_t left = graph.topological_order().size(); has_changed && left > 0; --left) {
    has_changed = false;
    TIFFIN_TRY(reorder_one(graph, &has_changed));
    graph.erase_dead();
  }
  return {};
}

}  // namespace tiffin::passes
