// SPDX-License-Identifier: Apache-2.0
// Builds a graph::Graph from a GraphProto whose functions are inlined, bodies of If, Loop and Scan included.
#pragma once

#include <memory>
#include <set>

#include "compiler/graph/graph.h"
#include "compiler/import/onnx/emitter.h"
#include "compiler/import/onnx/external_data.h"
#include "compiler/import/onnx/input_dims.h"
#include "compiler/import/onnx/unsupported.h"

namespace tiffin::import {

// What all graphs of a model share.
struct ModelContext {
  std::shared_ptr<const void> owner;  // of the bytes that tensors borrow
  ExternalFiles* external = nullptr;
  DimBindings bindings;
  Unsupported* unsupported = nullptr;
};

class GraphBuilder {
 public:
  // `enclosing` is the builder of the graph around a body, null for the model's own graph.
  GraphBuilder(const ModelContext& context, const GraphProto& source, GraphBuilder* enclosing);

  // `input_types` belongs to the inputs that are no initializers; it is declared_type's for a body.
  // In the place of operators, and forms of them, that are not supported stand-ins are put; the context lists them too, for a build that fails.
  // Errors: InvalidModel, UnsupportedType, Io.
  Status build(const std::vector<graph::Type>& input_types);

  std::shared_ptr<graph::Graph> graph() const { return graph_; }
  // Values of the enclosing graph that the Outer values stand for, in their order.
  const std::vector<graph::ValueId>& captured() const { return captured_; }
  // True when the name is a value here or in a graph around.
  bool has_name(const std::string& name) const;

 private:
  bool is_body() const { return enclosing_ != nullptr; }
  Status add_inputs(const std::vector<graph::Type>& input_types);
  Status add_initializers();
  Status add_constants();
  Status add_constant(const NodeProto& node);
  Status add_stand_in(const NodeProto& constant, const std::string& what);
  Status add_nodes();
  Status add_node(const NodeProto& node);
  Status add_outputs();
  Status define(const std::string& name, graph::ValueId id);
  graph::ValueId add_tensor(const std::string& name, graph::Tensor tensor, bool is_parameter);
  // The value of a name, made an Outer value when it belongs to an enclosing graph; kNone for "" and unknown names.
  graph::ValueId resolve(const std::string& name);
  Result<graph::Tensor> read_tensor(Bytes bytes);
  Status read_standard(const NodeProto& node, Draft* draft);
  Status read_attributes(const NodeProto& node, Draft* draft);
  Result<graph::Attribute> read_attribute(const AttributeProto& attribute);
  Status build_bodies(const NodeProto& node, Draft* draft);

  const ModelContext& context_;
  const GraphProto& source_;
  GraphBuilder* enclosing_;
  std::shared_ptr<graph::Graph> graph_;
  Emitter emitter_;
  std::set<std::string> own_names_;   // inputs, initializers and constants
  std::set<std::string> node_names_;  // results of nodes
  std::set<std::string> names_read_;
  std::map<std::string, graph::ValueId> values_;
  std::vector<graph::ValueId> captured_;
};

}  // namespace tiffin::import
