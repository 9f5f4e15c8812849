// SPDX-License-Identifier: Apache-2.0
// Inputs, initializers and constants take their names first, so that no generated name can displace one of the model's parameters.
#include "compiler/import/onnx/graph_builder.h"

#include "base/utf8.h"
#include "compiler/import/onnx/node_order.h"
#include "compiler/import/onnx/tensor_decoder.h"
#include "compiler/import/onnx/upgrade.h"

namespace tiffin::import {
namespace {

using graph::Attribute;
using graph::kNone;
using graph::Tensor;
using graph::ValueId;

// A Constant node of this many elements is one of the model's parameters.
constexpr int64_t kParameterElements = 64;
constexpr const char* kBodies[] = {"then_branch", "else_branch", "body"};  // the order of captured values

bool is_constant(const NodeProto& node) { return node.domain.empty() && node.op_type == "Constant"; }

const char* body_names(graph::Op op) {
  switch (op) {
    case graph::Op::If:
      return "then_branch and else_branch";
    case graph::Op::Loop:
    case graph::Op::Scan:
      return "body";
    default:
      return nullptr;
  }
}

Tensor float_tensor(std::vector<int64_t> shape, std::span<const float> elements) {
  return Tensor::from<float>(DType::Float32, std::move(shape), elements);
}

Tensor int_tensor(std::vector<int64_t> shape, std::span<const int64_t> elements) {
  return Tensor::from<int64_t>(DType::Int64, std::move(shape), elements);
}

// Names reach callers in C as texts that a zero byte ends, and callers in Python as text.
Status check_name(const std::string& name) {
  const size_t zero = name.find('\0');
  if (zero != std::string::npos) {
    return error(Code::InvalidModel, "the name that begins with '%s' has a zero byte after %zu characters", name.c_str(), zero);
  }
  return is_utf8(name) ? Status() : error(Code::InvalidModel, "the name '%s' is not UTF-8", name.c_str());
}

}  // namespace

GraphBuilder::GraphBuilder(const ModelContext& context, const GraphProto& source, GraphBuilder* enclosing)
    : context_(context), source_(source), enclosing_(enclosing), graph_(std::make_shared<graph::Graph>(source.name)), emitter_(graph_.get()) {}

bool GraphBuilder::has_name(const std::string& name) const {
  return own_names_.contains(name) || node_names_.contains(name) || (is_body() && enclosing_->has_name(name));
}

Status GraphBuilder::build(const std::vector<graph::Type>& input_types) {
  for (const NodeProto& node : source_.nodes) node_names_.insert(node.outputs.begin(), node.outputs.end());
  node_names_.erase("");
  names_read_ = names_read(source_);
  TIFFIN_TRY(add_inputs(input_types));
  TIFFIN_TRY(add_initializers());
  TIFFIN_TRY(add_constants());
  TIFFIN_TRY(add_nodes());
  return add_outputs();
}

Status GraphBuilder::define(const std::string& name, ValueId id) {
  TIFFIN_TRY(check_name(name));
  if (!own_names_.insert(name).second) return error(Code::InvalidModel, "value '%s' is defined twice, by inputs or initializers", name.c_str());
  values_[name] = id;
  return {};
}

Status GraphBuilder::add_inputs(const std::vector<graph::Type>& input_types) {
  size_t next = 0;
  for (const ValueInfoProto* input : fed_inputs(source_)) {
    if (input->name.empty()) return error(Code::InvalidModel, "graph '%s' has an input without a name", source_.name.c_str());
    TIFFIN_TRY(define(input->name, graph_->add_input(input->name, input_types[next++])));
  }
  return {};
}

ValueId GraphBuilder::add_tensor(const std::string& name, Tensor tensor, bool is_parameter) {
  return is_parameter ? graph_->add_parameter(name, std::move(tensor)) : graph_->add_constant(name, std::move(tensor));
}

Status GraphBuilder::add_initializers() {
  if (source_.has_sparse_initializer) {
    return error(Code::UnsupportedType, "graph '%s' has sparse initializers, only dense tensors are supported", source_.name.c_str());
  }
  for (const InitializerProto& initializer : source_.initializers) {
    if (initializer.name.empty()) return error(Code::InvalidModel, "graph '%s' has an initializer without a name", source_.name.c_str());
    TIFFIN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(initializer.tensor));
    TIFFIN_TRY(define(initializer.name, add_tensor(initializer.name, std::move(tensor), true)));
  }
  return {};
}

Status GraphBuilder::add_constants() {
  for (const NodeProto& node : source_.nodes) {
    if (!is_constant(node)) continue;
    Status added = add_constant(node);
    if (!added.is_ok()) return std::move(added).with_context("%s", describe(node).c_str());
  }
  return {};
}

Status GraphBuilder::add_constant(const NodeProto& node) {
  if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty() || node.attributes.size() != 1) {
    return error(Code::InvalidModel, "has %zu inputs, %zu outputs and %zu attributes, 0, 1 and 1 are expected", node.inputs.size(),
                 node.outputs.size(), node.attributes.size());
  }
  const AttributeProto& value = node.attributes[0];
  const std::string& name = node.outputs[0];
  Tensor tensor;
  switch (value.kind) {
    case AttributeKind::Tensor: {
      TIFFIN_ASSIGN_OR_RETURN(tensor, read_tensor(value.tensor));
      break;
    }
    case AttributeKind::Float:
      tensor = float_tensor({}, {&value.f, 1});
      break;
    case AttributeKind::Floats:
      tensor = float_tensor({static_cast<int64_t>(value.floats.size())}, value.floats);
      break;
    case AttributeKind::Int:
      tensor = int_tensor({}, {&value.i, 1});
      break;
    case AttributeKind::Ints:
      tensor = int_tensor({static_cast<int64_t>(value.ints.size())}, value.ints);
      break;
    case AttributeKind::String:
    case AttributeKind::Strings:
      return error(Code::UnsupportedType, "element type string is not supported");
    case AttributeKind::Other:
      return add_stand_in(node, "Constant with " + value.name);
    default:
      return error(Code::InvalidModel, "attribute '%s' has no value", value.name.c_str());
  }
  const bool is_parameter = value.kind == AttributeKind::Tensor && tensor.num_elements() >= kParameterElements;
  return define(name, add_tensor(name, std::move(tensor), is_parameter));
}

Status GraphBuilder::add_stand_in(const NodeProto& constant, const std::string& what) {
  context_.unsupported->add(what, constant);
  const std::string& name = constant.outputs[0];
  return define(name, graph_->add_node(graph::Op::Unsupported, name, {}, {{"what", what}}));
}

Status GraphBuilder::add_nodes() {
  // Constants stand among own_names_ already; the order is that of the other nodes.
  GraphProto rest;
  for (const NodeProto& node : source_.nodes) {
    if (!is_constant(node)) rest.nodes.push_back(node);
  }
  const auto is_outer = [this](const std::string& name) { return is_body() && enclosing_->has_name(name); };
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<size_t> order, order_nodes(rest, own_names_, is_outer));
  for (const size_t i : order) {
    const NodeProto& node = rest.nodes[i];
    Status added = add_node(node);
    if (!added.is_ok()) return std::move(added).with_context("%s", describe(node).c_str());
  }
  return {};
}

Status GraphBuilder::add_node(const NodeProto& node) {
  Draft draft;
  draft.op_type = node.op_type;
  draft.opset = node.opset;
  draft.name = node.name;
  draft.outputs = node.outputs;
  for (const std::string& output : node.outputs) draft.is_read.push_back(names_read_.contains(output));
  for (const std::string& input : node.inputs) draft.inputs.push_back(resolve(input));
  if (node.op_type.empty()) return error(Code::InvalidModel, "has no operator");
  const bool is_known = node.domain.empty() && find_op(node.op_type, &draft.op);
  std::string what = is_known ? "" : qualified_name(node);  // of a stand-in
  if (is_known) {
    Status read = read_standard(node, &draft);
    if (read.code() == Code::UnsupportedOperator) {
      what = read.message();
      context_.unsupported->add(what, node);
    } else if (!read.is_ok()) {
      return read;
    }
  } else {
    TIFFIN_TRY(build_bodies(node, &draft));
  }
  if (!what.empty()) {
    draft.op = graph::Op::Unsupported;
    draft.attributes["what"] = std::move(what);
  }
  if (body_names(draft.op) == nullptr) {
    while (!draft.inputs.empty() && draft.inputs.back() == kNone) draft.inputs.pop_back();
  }
  const graph::Node& written = graph_->node(emitter_.emit(draft));
  if (written.outputs.empty()) return error(Code::InvalidModel, "has no output");
  for (size_t i = 0; i < written.outputs.size(); ++i) {
    if (written.outputs[i] != kNone) values_[draft.outputs[i]] = written.outputs[i];
  }
  return {};
}

Status GraphBuilder::read_standard(const NodeProto& node, Draft* draft) {
  if (node.opset == 0) return error(Code::InvalidModel, "the model imports no version of the standard operators (opset)");
  TIFFIN_TRY(read_attributes(node, draft));
  TIFFIN_TRY(build_bodies(node, draft));
  return upgrade(draft, &emitter_);
}

Status GraphBuilder::add_outputs() {
  std::vector<ValueId> outputs;
  std::vector<std::string> names;
  for (const ValueInfoProto& output : source_.outputs) {
    TIFFIN_TRY(check_name(output.name));
    const ValueId id = resolve(output.name);
    if (id == kNone)
      return error(Code::InvalidModel, "graph '%s' has the output '%s', which nothing defines", source_.name.c_str(), output.name.c_str());
    outputs.push_back(id);
    names.push_back(output.name);
  }
  if (outputs.empty() && !is_body()) return error(Code::InvalidModel, "graph '%s' has no output", source_.name.c_str());
  graph_->set_outputs(std::move(outputs));
  graph_->set_output_names(std::move(names));
  return {};
}

ValueId GraphBuilder::resolve(const std::string& name) {
  if (name.empty()) return kNone;
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (!is_body() || own_names_.contains(name) || node_names_.contains(name)) return kNone;
  const ValueId outer = enclosing_->resolve(name);
  if (outer == kNone) return kNone;
  captured_.push_back(outer);
  return values_[name] = graph_->add_outer(name, enclosing_->graph_->value(outer).type);
}

Result<Tensor> GraphBuilder::read_tensor(Bytes bytes) {
  TIFFIN_ASSIGN_OR_RETURN(NamedTensor read, decode_tensor(bytes, context_.owner, context_.external));
  return std::move(read.tensor);
}

Status GraphBuilder::read_attributes(const NodeProto& node, Draft* draft) {
  for (const AttributeProto& attribute : node.attributes) {
    if (draft->attributes.contains(attribute.name)) return error(Code::InvalidModel, "attribute '%s' is given twice", attribute.name.c_str());
    if (!attribute.reference.empty()) return error(Code::InvalidModel, "attribute '%s' refers to a function outside of one", attribute.name.c_str());
    if (attribute.kind == AttributeKind::Graph) continue;
    if (attribute.kind == AttributeKind::Other) {
      return error(Code::UnsupportedOperator, "%s with %s", node.op_type.c_str(), attribute.name.c_str());
    }
    TIFFIN_ASSIGN_OR_RETURN(draft->attributes[attribute.name], read_attribute(attribute));
  }
  return {};
}

Result<Attribute> GraphBuilder::read_attribute(const AttributeProto& attribute) {
  switch (attribute.kind) {
    case AttributeKind::Float:
      return Attribute(static_cast<double>(attribute.f));
    case AttributeKind::Int:
      return Attribute(attribute.i);
    case AttributeKind::String:
      return Attribute(attribute.s);
    case AttributeKind::Floats:
      return Attribute(std::vector<double>(attribute.floats.begin(), attribute.floats.end()));
    case AttributeKind::Ints:
      return Attribute(attribute.ints);
    case AttributeKind::Strings:
      return Attribute(attribute.strings);
    case AttributeKind::Tensor: {
      TIFFIN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(attribute.tensor));
      return Attribute(std::move(tensor));
    }
    default:
      return error(Code::InvalidModel, "attribute '%s' has no value", attribute.name.c_str());
  }
}

Status GraphBuilder::build_bodies(const NodeProto& node, Draft* draft) {
  std::vector<ValueId> captured;
  size_t count = 0;
  for (const char* key : kBodies) {
    const AttributeProto* attribute = node.find(key);
    if (attribute == nullptr || attribute->graph == nullptr) continue;
    std::vector<graph::Type> input_types;
    for (const ValueInfoProto* input : fed_inputs(*attribute->graph)) {
      graph::Type type;  // bodies may leave it out; it is inferred
      if (input->elem_type != 0 || !input->is_tensor) {
        TIFFIN_ASSIGN_OR_RETURN(type, declared_type(*input, context_.bindings));
      }
      input_types.push_back(std::move(type));
    }
    GraphBuilder body(context_, *attribute->graph, this);
    TIFFIN_TRY(body.build(input_types));
    captured.insert(captured.end(), body.captured().begin(), body.captured().end());
    draft->attributes[key] = body.graph();
    ++count;
  }
  const char* expected = body_names(draft->op);
  const size_t wanted = expected == nullptr ? 0 : draft->op == graph::Op::If ? 2 : 1;
  if (count < wanted) return error(Code::InvalidModel, "has %zu bodies, %s expected", count, expected);
  if (count == 0) return {};
  draft->attributes["captured"] = static_cast<int64_t>(captured.size());
  draft->inputs.insert(draft->inputs.end(), captured.begin(), captured.end());
  return {};
}

}  // namespace tiffin::import
