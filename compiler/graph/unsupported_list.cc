// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/unsupported_list.h"

namespace tiffin::graph {
namespace {

constexpr size_t kMaxNamed = 100;  // nodes of one operator that are listed

// Calls `visit(graph, node)` for every stand-in, until it returns true; then true.
template <class Visit>
bool visit_stand_ins(const Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.node_capacity(); ++i) {
    const Node& node = graph.node(static_cast<NodeId>(i));
    if (node.is_erased) continue;
    if (node.op == Op::Unsupported && visit(graph, node)) return true;
    for (const auto& [key, attribute] : node.attributes) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr && *body != nullptr && visit_stand_ins(**body, visit)) return true;
    }
  }
  return false;
}

}  // namespace

void make_stand_in(const Graph& graph, Node& node, const Status& cause) {
  std::string reason = cause.message();
  const std::string prefix = node_title(graph, node) + ": ";
  if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  node.attributes["what"] = std::string(op_name(node.op)) + " in this form";
  node.attributes["reason"] = std::move(reason);
  node.op = Op::Unsupported;
}

bool has_stand_in(const Graph& graph) {
  return visit_stand_ins(graph, [](const Graph&, const Node&) { return true; });
}

std::string node_label(const Graph& graph, const Node& node) {
  std::string name = node.name;
  for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone) name = graph.value(node.outputs[i]).name;
  }
  return "'" + name + "'";
}

std::string node_title(const Graph& graph, const Node& node) {
  return "node " + node_label(graph, node) + " (" + std::string(op_name(node.op)) + ")";
}

void UnsupportedList::add_stand_ins(const Graph& graph) {
  visit_stand_ins(graph, [this](const Graph& around, const Node& node) {
    const std::string reason = node.string_attribute("reason", "");
    add(node.string_attribute("what", ""), node_label(around, node) + (reason.empty() ? "" : ": " + reason));
    return false;
  });
}

Status check_stand_ins(const Graph& graph) {
  UnsupportedList list;
  list.add_stand_ins(graph);
  return list.to_status();
}

Status UnsupportedList::to_status() const {
  if (is_empty()) return {};
  std::string list, names;
  for (const auto& [what, nodes] : nodes_) {
    list += (list.empty() ? "" : ", ") + what + " (" + std::to_string(nodes.size()) + (nodes.size() == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < nodes.size() && i < kMaxNamed; ++i) list += (i > 0 ? ", " : "") + nodes[i];
    if (nodes.size() > kMaxNamed) list += " and " + std::to_string(nodes.size() - kMaxNamed) + " more";
    list += ")";
    names += what + '\0';
  }
  return error(Code::UnsupportedOperator, "operators that are not supported: %s", list.c_str()).with_details("operators", names);
}

}  // namespace tiffin::graph
