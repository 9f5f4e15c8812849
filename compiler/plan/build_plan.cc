// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/build_plan.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "compiler/kernel/lower.h"
#include "compiler/kernel/printer.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_class.h"
#include "compiler/plan/buffers.h"
#include "compiler/plan/check_support.h"
#include "compiler/plan/fusion.h"
#include "compiler/plan/storage.h"

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::ValueId;

class Planner {
 public:
  Planner(Graph& graph, const PlanOptions& options) : graph_(graph), options_(options) {}

  Result<Plan> run() {
    TIFFIN_TRY(check_support(graph_, options_.machine));
    TIFFIN_TRY(give_outputs_their_own_results());
    TIFFIN_ASSIGN_OR_RETURN(StorageDecision storage, plan_storage(graph_, options_.opt_level > 0));
    TIFFIN_TRY(lower_groups(storage));
    TIFFIN_TRY(assign_buffers(graph_, storage, steps_, options_.opt_level > 0, plan_));
    plan_.storage = std::move(storage.storage);
    name_interface();
    return std::move(plan_);
  }

 private:
  Status give_outputs_their_own_results();
  Status lower_groups(const StorageDecision& storage);
  Status lower_group(const Group& group);
  uint32_t intern(std::unique_ptr<kernel::Kernel> kernel);
  std::string label_of(const Group& group) const;
  void name_interface();

  Graph& graph_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<LoweredStep> steps_;
  std::vector<std::vector<NodeId>> users_;
  std::map<std::string, uint32_t> kernel_of_key_;
  std::map<std::string, int> name_uses_;
};

// An output that is an input, a constant, a view, or listed twice becomes a copy with a buffer of its own.
Status Planner::give_outputs_their_own_results() {
  std::vector<ValueId> outputs = graph_.outputs();
  std::set<ValueId> seen;
  for (ValueId& output : outputs) {
    const graph::Value& value = graph_.value(output);
    const bool is_result = value.producer != kNone && ops::op_class(graph_.node(value.producer).op) != ops::OpClass::View;
    if (is_result && seen.insert(output).second) continue;
    const std::string name = value.name;
    const ValueId copy = graph_.add_node(Op::Identity, name + "/copy", {output});
    TIFFIN_TRY(ops::infer_node(graph_, graph_.value(copy).producer));
    output = copy;
    seen.insert(copy);
  }
  graph_.set_outputs(std::move(outputs));
  return {};
}

std::string Planner::label_of(const Group& group) const {
  std::string label;
  for (const NodeId id : group.nodes) {
    const Node& node = graph_.node(id);
    label += (label.empty() ? "" : " + ") + (node.name.empty() ? std::string(graph::op_name(node.op)) : node.name);
  }
  constexpr size_t kMaxLength = 200;
  if (label.size() > kMaxLength) label = label.substr(0, kMaxLength) + "...";
  return label;
}

// One kernel for all groups that compute the same; its name says which operators.
uint32_t Planner::intern(std::unique_ptr<kernel::Kernel> kernel) {
  const std::string key = kernel::structural_key(*kernel);
  const auto [found, is_new] = kernel_of_key_.try_emplace(key, static_cast<uint32_t>(plan_.kernels.size()));
  if (is_new) {
    const int count = name_uses_[kernel->name]++;
    if (count > 0) kernel->name += "_" + std::to_string(count);
    plan_.kernels.push_back(std::move(kernel));
  }
  return found->second;
}

Status Planner::lower_group(const Group& group) {
  kernel::LowerOptions lower;
  lower.machine = options_.machine;
  lower.vectorise = options_.opt_level > 0;
  lower.users = &users_;
  TIFFIN_ASSIGN_OR_RETURN(kernel::LoweredKernel lowered, kernel::lower_group(graph_, group.nodes, lower));
  std::string name;
  for (const NodeId id : group.nodes) {
    std::string op(graph::op_name(graph_.node(id).op));
    std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name.size() + op.size() < 48) name += (name.empty() ? "" : "_") + op;
  }
  lowered.kernel->name = name;
  LoweredStep step;
  step.label = label_of(group);
  step.buffers = std::move(lowered.buffers);
  step.in_place = std::move(lowered.in_place);
  step.outputs_begin = step.buffers.size();
  for (size_t i = 0; i < lowered.kernel->parameters().size(); ++i) {
    if (lowered.kernel->parameters()[i]->is_output) {
      step.outputs_begin = i;
      break;
    }
  }
  step.kernel = intern(std::move(lowered.kernel));
  steps_.push_back(std::move(step));
  return {};
}

// Everything that cannot be lowered is reported at once.
Status Planner::lower_groups(const StorageDecision& storage) {
  const bool optimise = options_.opt_level > 0;
  users_ = graph_.build_users();
  std::vector<char> is_planned(graph_.node_capacity(), 1);
  for (size_t id = 0; id < is_planned.size(); ++id) {
    const Node& node = graph_.node(static_cast<NodeId>(id));
    const bool is_view = optimise && !node.is_erased && ops::op_class(node.op) == ops::OpClass::View;
    if (node.is_erased || storage.is_absorbed[id] != 0 || is_view) is_planned[id] = 0;
  }
  Code code = Code::Ok;
  std::string faults;
  for (const Group& group : choose_groups(graph_, is_planned, optimise)) {
    const Status status = lower_group(group);
    if (status.is_ok()) continue;
    if (status.code() != Code::UnsupportedOperator && status.code() != Code::UnsupportedType) return status.clone();
    if (code == Code::Ok || status.code() == Code::UnsupportedOperator) code = status.code();
    faults += (faults.empty() ? "" : "; ") + std::string(status.message());
  }
  if (code != Code::Ok) return error(code, "%s", faults.c_str());
  return {};
}

void Planner::name_interface() {
  plan_.entry.name = options_.entry;
  for (const ValueId input : graph_.inputs()) plan_.entry.inputs.push_back({graph_.value(input).name, graph_.value(input).type});
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const graph::Value& value = graph_.value(graph_.outputs()[i]);
    plan_.entry.outputs.push_back({i < graph_.output_names().size() ? graph_.output_names()[i] : value.name, value.type});
  }
}

}  // namespace

Result<Plan> build_plan(Graph& graph, const PlanOptions& options) { return Planner(graph, options).run(); }

}  // namespace tiffin::plan
