// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto.
#include "compiler/import/onnx/model_proto.h"

#include <set>

#include "compiler/import/onnx/wire.h"

namespace tiffin::import {
namespace {

// Graphs in attributes of nodes of graphs; protobuf's own readers stop at 100 messages, which is fewer graphs.
constexpr int kMaxGraphDepth = 64;

GraphProto read_graph(Fields fields, int depth);

void read_opset(Fields fields, Opsets* out) {
  std::string domain;
  int64_t version = 0;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        domain = fields.text();
        break;
      case 2:
        version = fields.integer();
        break;
      default:
        break;
    }
  }
  const auto [entry, is_new] = out->emplace(normal_domain(domain), version);
  if (!is_new && entry->second != version) fields.fail("an operator set is imported in two versions");
}

// Old files leave the type out: the field that is filled tells it.
AttributeKind kind_of(int64_t type, AttributeKind seen) {
  if (type == 0) return seen;
  return type > 0 && type <= 8 ? static_cast<AttributeKind>(type) : AttributeKind::Other;
}

AttributeProto read_attribute(Fields fields, int depth) {
  AttributeProto out;
  int64_t type = 0;
  AttributeKind seen = AttributeKind::Undefined;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.name = fields.text();
        break;
      case 2:
        out.f = fields.float32(), seen = AttributeKind::Float;
        break;
      case 3:
        out.i = fields.integer(), seen = AttributeKind::Int;
        break;
      case 4:
        out.s = fields.text(), seen = AttributeKind::String;
        break;
      case 5:
        out.tensor = fields.bytes(), seen = AttributeKind::Tensor;
        break;
      case 6:
        out.graph = std::make_shared<const GraphProto>(read_graph(fields.message("GraphProto"), depth + 1));
        seen = AttributeKind::Graph;
        break;
      case 7:
        fields.fixed<float>([&](float value) { out.floats.push_back(value); }), seen = AttributeKind::Floats;
        break;
      case 8:
        fields.integers([&](int64_t value) { out.ints.push_back(value); }), seen = AttributeKind::Ints;
        break;
      case 9:
        out.strings.push_back(fields.text()), seen = AttributeKind::Strings;
        break;
      case 20:
        type = fields.integer();
        break;
      case 21:
        out.reference = fields.text();
        break;
      case 10:
      case 11:
      case 14:
      case 15:
      case 22:
      case 23:
        seen = AttributeKind::Other;
        break;
      default:
        break;
    }
  }
  out.kind = kind_of(type, seen);
  if (out.kind == AttributeKind::Graph && out.graph == nullptr && out.reference.empty()) fields.fail("a graph attribute without a graph");
  return out;
}

NodeProto read_node(Fields fields, size_t position, int depth) {
  NodeProto out;
  out.position = static_cast<int64_t>(position);
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.inputs.push_back(fields.text());
        break;
      case 2:
        out.outputs.push_back(fields.text());
        break;
      case 3:
        out.name = fields.text();
        break;
      case 4:
        out.op_type = fields.text();
        break;
      case 5:
        out.attributes.push_back(read_attribute(fields.message("AttributeProto"), depth));
        break;
      case 7:
        out.domain = normal_domain(fields.text());
        break;
      case 8:
        out.overload = fields.text();
        break;
      default:
        break;
    }
  }
  return out;
}

DimProto read_dim(Fields fields) {
  DimProto out;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.value = fields.integer(), out.symbol.clear();
        break;
      case 2:
        out.symbol = fields.text(), out.value.reset();
        break;
      default:
        break;
    }
  }
  return out;
}

void read_tensor_type(Fields fields, ValueInfoProto* out) {
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out->elem_type = fields.integer();
        break;
      case 2: {
        Fields shape = fields.message("TensorShapeProto");
        out->shape.emplace();
        while (shape.next()) {
          if (shape.tag() == 1) out->shape->push_back(read_dim(shape.message("TensorShapeProto.Dimension")));
        }
        break;
      }
      default:
        break;
    }
  }
}

ValueInfoProto read_value_info(Fields fields) {
  ValueInfoProto out;
  while (fields.next()) {
    if (fields.tag() == 1) out.name = fields.text();
    if (fields.tag() != 2) continue;
    Fields type = fields.message("TypeProto");
    while (type.next()) {
      switch (type.tag()) {
        case 1:
          read_tensor_type(type.message("TypeProto.Tensor"), &out);
          break;
        case 4:
        case 5:
        case 7:
        case 8:
        case 9:
          out.is_tensor = false;
          break;
        default:
          break;
      }
    }
  }
  return out;
}

InitializerProto read_initializer(Fields fields) {
  InitializerProto out;
  out.tensor = fields.bytes();
  Fields tensor(out.tensor, "TensorProto");
  while (tensor.next()) {
    if (tensor.tag() == 8) out.name = tensor.text();
  }
  return out;
}

GraphProto read_graph(Fields fields, int depth) {
  if (depth > kMaxGraphDepth) fields.fail("graphs are nested more than 64 deep");
  GraphProto out;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.nodes.push_back(read_node(fields.message("NodeProto"), out.nodes.size(), depth));
        break;
      case 2:
        out.name = fields.text();
        break;
      case 5:
        out.initializers.push_back(read_initializer(fields));
        break;
      case 11:
        out.inputs.push_back(read_value_info(fields.message("ValueInfoProto")));
        break;
      case 12:
        out.outputs.push_back(read_value_info(fields.message("ValueInfoProto")));
        break;
      case 15:
        out.has_sparse_initializer = true;
        break;
      default:
        break;
    }
  }
  return out;
}

FunctionProto read_function(Fields fields) {
  FunctionProto out;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.name = fields.text();
        break;
      case 4:
        out.inputs.push_back(fields.text());
        break;
      case 5:
        out.outputs.push_back(fields.text());
        break;
      case 6:
        out.attributes.push_back(fields.text());
        break;
      case 7:
        out.nodes.push_back(read_node(fields.message("NodeProto"), out.nodes.size(), 0));
        break;
      case 9:
        read_opset(fields.message("OperatorSetIdProto"), &out.opsets);
        break;
      case 10:
        out.domain = normal_domain(fields.text());
        break;
      case 11:
        out.defaults.push_back(read_attribute(fields.message("AttributeProto"), 0));
        break;
      case 13:
        out.overload = fields.text();
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace

const AttributeProto* NodeProto::find(const std::string& attribute) const {
  for (const AttributeProto& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string describe(const NodeProto& node) {
  const std::string which = node.name.empty() ? std::to_string(node.position) : "'" + node.name + "'";
  return "node " + which + " (" + (node.domain.empty() ? "" : node.domain + ".") + node.op_type + ")";
}

std::vector<const ValueInfoProto*> fed_inputs(const GraphProto& graph) {
  std::set<std::string> initialized;
  for (const InitializerProto& initializer : graph.initializers) initialized.insert(initializer.name);
  std::vector<const ValueInfoProto*> out;
  for (const ValueInfoProto& input : graph.inputs) {
    if (!initialized.contains(input.name)) out.push_back(&input);
  }
  return out;
}

ModelProto read_model(Bytes bytes) {
  ModelProto out;
  Fields fields(bytes, "ModelProto");
  while (fields.next()) {
    switch (fields.tag()) {
      case 1:
        out.ir_version = fields.integer();
        break;
      case 2:
        out.producer_name = fields.text();
        break;
      case 3:
        out.producer_version = fields.text();
        break;
      case 7:
        out.graph = read_graph(fields.message("GraphProto"), 0);
        break;
      case 8:
        read_opset(fields.message("OperatorSetIdProto"), &out.opsets);
        break;
      case 25:
        out.functions.push_back(read_function(fields.message("FunctionProto")));
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace tiffin::import
