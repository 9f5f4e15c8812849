// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/inline_if.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;

std::shared_ptr<Graph> branch_of(const Node& node, const char* key) {
  const auto found = node.attributes.find(key);
  const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<Graph>>(&found->second);
  return body == nullptr ? nullptr : *body;
}

size_t count_outer(const Graph& branch) {
  size_t count = 0;
  for (size_t i = 0; i < branch.value_capacity(); ++i) count += branch.value(static_cast<ValueId>(i)).kind == ValueKind::Outer;
  return count;
}

// For each value of the branch what stands for it in the graph; results of nodes are filled in as the nodes are copied. The Outer values are the
// node's captured inputs from `next` on, in their order.
std::vector<ValueId> map_sources(Graph& graph, const Graph& branch, const std::vector<ValueId>& inputs, size_t next) {
  std::vector<ValueId> map(branch.value_capacity(), kNone);
  for (size_t i = 0; i < map.size(); ++i) {
    const graph::Value& value = branch.value(static_cast<ValueId>(i));
    if (value.kind == ValueKind::Outer && next < inputs.size()) map[i] = inputs[next++];
    if (value.is_erased) continue;
    if (value.kind == ValueKind::Constant) map[i] = graph.add_constant(value.name, value.tensor);
    if (value.kind == ValueKind::Parameter) {
      map[i] = graph.add_parameter(value.name, value.tensor);
      graph.value(map[i]).is_frozen = value.is_frozen;
    }
  }
  return map;
}

std::vector<ValueId> mapped(const std::vector<ValueId>& values, const std::vector<ValueId>& map) {
  std::vector<ValueId> out;
  for (const ValueId value : values) out.push_back(value == kNone ? kNone : map[static_cast<size_t>(value)]);
  return out;
}

void copy_node(Graph& graph, const Graph& branch, const Node& node, std::vector<ValueId>& map) {
  std::vector<std::string> names;
  for (const ValueId output : node.outputs) names.push_back(output == kNone ? "" : branch.value(output).name);
  const graph::NodeId id = graph.add_node_with_results(node.op, node.name, mapped(node.inputs, map), names, node.attributes);
  Node& copy = graph.node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone) {
      map[static_cast<size_t>(node.outputs[i])] = copy.outputs[i];
      continue;
    }
    graph.erase_value(copy.outputs[i]);
    copy.outputs[i] = kNone;
  }
}

}  // namespace

bool can_inline_if(const Graph& graph, const Node& node) {
  if (node.op != graph::Op::If || !graph.is_constant(node.input(0))) return false;
  const graph::Tensor* condition = graph.tensor_of(node.inputs[0]);
  return condition->dtype() == DType::Bool && condition->num_elements() == 1;
}

Status inline_if(Graph& graph, graph::NodeId id) {
  const Node& node = graph.node(id);
  const std::shared_ptr<Graph> then_branch = branch_of(node, "then_branch"), else_branch = branch_of(node, "else_branch");
  if (then_branch == nullptr || else_branch == nullptr) return error(Code::InvalidModel, "node '%s' (If) lacks a branch", node.name.c_str());
  const bool is_true = graph.tensor_of(node.inputs[0])->at<uint8_t>(0) != 0;
  const Graph& branch = is_true ? *then_branch : *else_branch;
  if (branch.outputs().size() != node.outputs.size()) {
    return error(Code::InvalidModel, "the branch of node '%s' (If) has %zu outputs, expected %zu", node.name.c_str(), branch.outputs().size(),
                 node.outputs.size());
  }
  graph::Value& condition = graph.value(node.inputs[0]);
  if (condition.kind == ValueKind::Parameter) condition.is_frozen = true;
  std::vector<ValueId> map = map_sources(graph, branch, node.inputs, is_true ? 1 : 1 + count_outer(*then_branch));
  for (const graph::NodeId inner : branch.topological_order()) copy_node(graph, branch, branch.node(inner), map);
  const std::vector<ValueId> results = mapped(branch.outputs(), map), outputs = node.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != kNone && results[i] != kNone) graph.replace_uses(outputs[i], results[i]);
  }
  graph.erase_node(id);
  return {};
}

}  // namespace tiffin::passes
