// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/unsupported.h"

#include "compiler/import/onnx/upgrade.h"

namespace tiffin::import {
void Unsupported::add(const std::string& what, const NodeProto& node) {
  list_.add(what, node.name.empty() ? "node " + std::to_string(node.position) : "'" + node.name + "'");
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

}  // namespace tiffin::import
