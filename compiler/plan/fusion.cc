// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/fusion.h"

#include <algorithm>

#include "compiler/kernel/lower.h"
#include "compiler/ops/op_class.h"

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::OpClass;

// More operands than this in one kernel cost registers and address arithmetic without saving memory traffic.
constexpr size_t kMaxNodesInGroup = 24;

// Greedy, in topological order (1) every node starts a group of its own; (2) an elementwise node takes in the groups of those operands that nobody
// outside reads and that have its shape, as long as at most one of them is heavy. This cannot make a cycle: a group shows one value, and only the
// group that takes it in reads that, so none of its other operands can depend on it.
class Fusion {
 public:
  Fusion(const Graph& graph, const std::vector<char>& is_planned) : graph_(graph), is_planned_(is_planned), users_(graph.build_users()) {
    group_of_.assign(graph.node_capacity(), -1);
    for (const ValueId output : graph.outputs()) is_output_.push_back(output);
  }

  std::vector<Group> run(bool fuse) {
    const std::vector<NodeId> order = graph_.topological_order();
    for (const NodeId id : order) {
      if (is_planned_[static_cast<size_t>(id)] == 0) continue;
      group_of_[static_cast<size_t>(id)] = static_cast<int>(groups_.size());
      groups_.push_back({{{id}}, is_heavy(id)});
      if (fuse && ops::op_class(graph_.node(id).op) == OpClass::Elementwise) join_operands(id);
    }
    return collect(order);
  }

 private:
  struct Draft {
    Group group;
    bool has_heavy = false;
  };

  bool is_heavy(NodeId id) const { return ops::op_class(graph_.node(id).op) == OpClass::Heavy; }

  // Joining one operand can make the group the only reader of another, so this repeats until nothing joins.
  void join_operands(NodeId id) {
    while (join_one_operand(id)) {
    }
  }

  bool join_one_operand(NodeId id) {
    const int own = group_of_[static_cast<size_t>(id)];
    Draft& to = groups_[static_cast<size_t>(own)];
    for (const NodeId member : to.group.nodes) {
      if (ops::op_class(graph_.node(member).op) != OpClass::Elementwise) continue;  // others may read an element many times
      for (const ValueId input : graph_.node(member).inputs) {
        if (input == kNone || !can_inline(input, id)) continue;
        const int other = group_of_[static_cast<size_t>(graph_.value(input).producer)];
        Draft& from = groups_[static_cast<size_t>(other)];
        const bool too_many = from.group.nodes.size() + to.group.nodes.size() > kMaxNodesInGroup;
        if (other == own || too_many || (from.has_heavy && to.has_heavy)) continue;
        for (const NodeId moved : from.group.nodes) group_of_[static_cast<size_t>(moved)] = own;
        to.group.nodes.insert(to.group.nodes.begin(), from.group.nodes.begin(), from.group.nodes.end());
        to.has_heavy |= from.has_heavy;
        from.group.nodes.clear();
        return true;
      }
    }
    return false;
  }

  // A single-result operand in the program that only the group ending in `last` reads, element by element, of that node's shape.
  bool can_inline(ValueId input, NodeId last) const {
    const graph::Value& value = graph_.value(input);
    if (value.producer == kNone || is_planned_[static_cast<size_t>(value.producer)] == 0) return false;
    const Node& producer = graph_.node(value.producer);
    if (producer.outputs.size() != 1 || ops::op_class(producer.op) == OpClass::View || kernel::needs_own_kernel(producer.op)) return false;
    const int own = group_of_[static_cast<size_t>(last)];
    const auto& users = users_[static_cast<size_t>(input)];
    const bool only_reader = std::all_of(users.begin(), users.end(), [&](NodeId user) {
      return group_of_[static_cast<size_t>(user)] == own && ops::op_class(graph_.node(user).op) == OpClass::Elementwise;
    });
    const bool leaves = std::find(is_output_.begin(), is_output_.end(), input) != is_output_.end();
    return only_reader && !leaves && value.type.shape == graph_.value(graph_.node(last).outputs[0]).type.shape;
  }

  std::vector<Group> collect(const std::vector<NodeId>& order) {
    std::vector<size_t> position(graph_.node_capacity(), 0);
    for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = i;
    const auto earlier = [&](NodeId a, NodeId b) { return position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)]; };
    std::vector<Group> out;
    for (Draft& draft : groups_) {
      if (draft.group.nodes.empty()) continue;
      std::sort(draft.group.nodes.begin(), draft.group.nodes.end(), earlier);
      out.push_back(std::move(draft.group));
    }
    std::sort(out.begin(), out.end(), [&](const Group& a, const Group& b) { return earlier(a.nodes.back(), b.nodes.back()); });
    return out;
  }

  const Graph& graph_;
  const std::vector<char>& is_planned_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<ValueId> is_output_;
  std::vector<Draft> groups_;
  std::vector<int> group_of_;
};

}  // namespace

std::vector<Group> choose_groups(const Graph& graph, const std::vector<char>& is_planned, bool fuse) { return Fusion(graph, is_planned).run(fuse); }

}  // namespace tiffin::plan
