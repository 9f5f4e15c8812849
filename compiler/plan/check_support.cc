// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/check_support.h"

#include <algorithm>

#include "compiler/graph/unsupported_list.h"
#include "compiler/kernel/lower.h"
#include "compiler/ops/op_class.h"

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::ValueId;

// What these give has a shape that depends on values.
bool depends_on_values(Op op) { return op == Op::If || op == Op::Loop || op == Op::Scan || op == Op::NonMaxSuppression || op == Op::NonZero; }

class Check {
 public:
  Check(const Graph& graph, const kernel::Machine& machine) : graph_(graph) { lower_.machine = machine; }

  Status run() {
    faults_.add_stand_ins(graph_);
    find_what_may_fold();
    for (const NodeId id : graph_.topological_order()) check_node(graph_.node(id));
    if (faults_.is_empty()) return {};
    for (const NodeId id : graph_.topological_order()) try_lowering(id);
    return faults_.to_status();
  }

 private:
  // What could be a constant if it were not for stand-ins.
  void find_what_may_fold() {
    if (faults_.is_empty()) return;
    may_fold_.resize(graph_.value_capacity());
    for (size_t i = 0; i < may_fold_.size(); ++i) may_fold_[i] = graph_.is_constant(static_cast<ValueId>(i)) ? 1 : 0;
    const auto folds = [this](ValueId value) { return value == kNone || may_fold_[static_cast<size_t>(value)] != 0; };
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (!ops::reads_only_the_shape(node.op) && !std::all_of(node.inputs.begin(), node.inputs.end(), folds)) continue;
      for (const ValueId output : node.outputs) {
        if (output != kNone) may_fold_[static_cast<size_t>(output)] = 1;
      }
    }
  }

  bool may_fold(ValueId value) const { return value != kNone && !may_fold_.empty() && may_fold_[static_cast<size_t>(value)] != 0; }
  bool is_open(ValueId value) const {
    return value != kNone && (!graph_.value(value).type.has_static_shape() || graph_.value(value).type.dtype == DType::Undefined);
  }
  bool has_open(const std::vector<ValueId>& values) const {
    return std::any_of(values.begin(), values.end(), [this](ValueId value) { return is_open(value); });
  }

  void check_node(const Node& node) {
    if (node.op == Op::Unsupported) return;
    const std::string op(graph::op_name(node.op)), label = graph::node_label(graph_, node);
    const bool has_lowering = kernel::has_lowering(node.op);
    if (node.op == Op::If) {
      if (!may_fold(node.input(0))) faults_.add("If with a condition that is computed", label);
    } else if (node.op == Op::NonZero && may_fold(node.input(0))) {
      return;
    } else if (has_open(node.inputs) && !depends_on_values(node.op)) {
      return;
    } else if (has_open(node.outputs)) {
      faults_.add(has_lowering ? op + " with a shape that depends on computed values" : op, label);
    } else if (!has_lowering) {
      faults_.add(op + " in this form", label);
    }
  }

  // Lowering declines attributes and types that the operator has a kernel for otherwise.
  void try_lowering(NodeId id) {
    const Node& node = graph_.node(id);
    if (!kernel::has_lowering(node.op) || has_open(node.inputs) || has_open(node.outputs)) return;
    const Status status = kernel::lower_group(graph_, {&id, 1}, lower_).take_error();
    if (status.code() != Code::UnsupportedOperator && status.code() != Code::UnsupportedType) return;
    Node declined = node;
    graph::make_stand_in(graph_, declined, status);
    faults_.add(declined.string_attribute("what", ""), graph::node_label(graph_, node) + ": " + declined.string_attribute("reason", ""));
  }

  const Graph& graph_;
  kernel::LowerOptions lower_;
  graph::UnsupportedList faults_;
  std::vector<char> may_fold_;  // by value; empty where there are no stand-ins
};

}  // namespace

Status check_support(const Graph& graph, const kernel::Machine& machine) { return Check(graph, machine).run(); }

}  // namespace tiffin::plan
