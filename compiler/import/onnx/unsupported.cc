// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/unsupported.h"

#include "compiler/import/onnx/upgrade.h"

namespace tiffin::import {

std::string qualified_name(const NodeProto& node) { return (node.domain.empty() ? "" : node.domain + ".") + node.op_type; }

void Unsupported::add(const std::string& what, const NodeProto& node) {
  std::string name = node.name;
  for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) name = node.outputs[i];
  list_.add(what, name.empty() ? "node " + std::to_string(node.position) : "'" + name + "'");
}

void Unsupported::add_unknown(const GraphProto& graph) {
  graph::Op op;
  for (const NodeProto& node : graph.nodes) {
    const bool is_known = node.domain.empty() && (node.op_type.empty() || node.op_type == "Constant" || find_op(node.op_type, &op));
    if (!is_known) add(qualified_name(node), node);
    for (const AttributeProto& attribute : node.attributes) {
      if (attribute.graph != nullptr) add_unknown(*attribute.graph);
    }
  }
}

}  // namespace tiffin::import
