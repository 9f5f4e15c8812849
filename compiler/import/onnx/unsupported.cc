// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/unsupported.h"

#include "compiler/import/onnx/upgrade.h"

namespace tiffin::import {
namespace {

constexpr size_t kMaxNamed = 100;  // nodes of one operator that are listed

}  // namespace

void Unsupported::add(const std::string& what, const NodeProto& node) {
  nodes_[what].push_back(node.name.empty() ? "node " + std::to_string(node.position) : "'" + node.name + "'");
}

void Unsupported::add_unknown(const GraphProto& graph) {
  graph::Op op;
  for (const NodeProto& node : graph.nodes) {
    const bool is_known = node.domain.empty() && (node.op_type.empty() || node.op_type == "Constant" || find_op(node.op_type, &op));
    if (!is_known) add((node.domain.empty() ? "" : node.domain + ".") + node.op_type, node);
    for (const AttributeProto& attribute : node.attributes) {
      if (attribute.graph != nullptr) add_unknown(*attribute.graph);
    }
  }
}

Status Unsupported::to_status() const {
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

}  // namespace tiffin::import
