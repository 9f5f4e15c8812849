// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto.
#include "compiler/import/onnx/external_locations.h"

#include "compiler/import/onnx/model_proto.h"
#include "compiler/import/onnx/wire.h"

namespace tiffin::import {
namespace {

constexpr uint32_t kExternalData = 13;

void add_tensor(Bytes tensor, std::set<std::string>& out) {
  Fields fields(tensor, "TensorProto");
  while (fields.next()) {
    if (fields.tag() != kExternalData) continue;
    Fields entry = fields.message("StringStringEntryProto");
    std::string key, value;
    while (entry.next()) {
      if (entry.tag() == 1) key = entry.text();
      if (entry.tag() == 2) value = entry.text();
    }
    if (key == "location") out.insert(value);
  }
}

void add_graph(const GraphProto& graph, std::set<std::string>& out);

void add_attributes(const std::vector<AttributeProto>& attributes, std::set<std::string>& out) {
  for (const AttributeProto& attribute : attributes) {
    if (attribute.kind == AttributeKind::Tensor) add_tensor(attribute.tensor, out);
    if (attribute.graph != nullptr) add_graph(*attribute.graph, out);
  }
}

void add_nodes(const std::vector<NodeProto>& nodes, std::set<std::string>& out) {
  for (const NodeProto& node : nodes) add_attributes(node.attributes, out);
}

void add_graph(const GraphProto& graph, std::set<std::string>& out) {
  for (const InitializerProto& initializer : graph.initializers) add_tensor(initializer.tensor, out);
  add_nodes(graph.nodes, out);
}

}  // namespace

Result<std::set<std::string>> external_locations(std::span<const uint8_t> bytes) {
  std::set<std::string> out;
  TIFFIN_TRY(read_messages(bytes, [&]() -> Status {
    const ModelProto model = read_model(bytes);
    if (model.graph) add_graph(*model.graph, out);
    for (const FunctionProto& function : model.functions) {
      add_attributes(function.defaults, out);
      add_nodes(function.nodes, out);
    }
    return {};
  }));
  return out;
}

}  // namespace tiffin::import
