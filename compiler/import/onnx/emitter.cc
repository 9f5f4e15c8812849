// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/emitter.h"

#include "compiler/import/onnx/result_dtype.h"

namespace tiffin::import {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

NodeId Emitter::emit(const Draft& draft) {
  std::vector<std::string> present;
  for (const std::string& output : draft.outputs) {
    if (!output.empty()) present.push_back(output);
  }
  const NodeId id = graph_->add_node_with_results(draft.op, draft.name, draft.inputs, present, draft.attributes);
  std::vector<ValueId> outputs;
  size_t next = 0;
  for (size_t i = 0; i < draft.outputs.size(); ++i) {
    if (draft.outputs[i].empty()) {
      outputs.push_back(kNone);
      continue;
    }
    outputs.push_back(graph_->node(id).outputs[next++]);
    graph_->value(outputs.back()).output_index = static_cast<int32_t>(i);
  }
  while (!outputs.empty() && outputs.back() == kNone) outputs.pop_back();
  graph_->node(id).outputs = std::move(outputs);
  set_dtypes(id);
  return id;
}

ValueId Emitter::emit(const Draft& draft, graph::Op op, std::vector<ValueId> inputs, graph::Attributes attributes) {
  const std::string name = draft.name + "." + std::string(graph::op_name(op));
  const NodeId id = graph_->add_node_with_results(op, name, std::move(inputs), {name}, std::move(attributes));
  set_dtypes(id);
  return graph_->node(id).outputs[0];
}

void Emitter::set_dtypes(NodeId id) {
  const graph::Node& node = graph_->node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone) graph_->value(node.outputs[i]).type.dtype = result_dtype(*graph_, node, i);
  }
}

std::optional<int64_t> Emitter::rank(ValueId id) const {
  if (id == kNone || !graph_->value(id).type.has_rank()) return std::nullopt;
  return static_cast<int64_t>(graph_->value(id).type.rank());
}

}  // namespace tiffin::import
