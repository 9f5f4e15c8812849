// SPDX-License-Identifier: Apache-2.0
// The imported model as typed operators in SSA form. A Graph owns its nodes and values; ids are indices into it, stay valid until the node or
// value is erased, and are never reused. Passes take Graph& and leave it valid (verifier.h). Not thread-safe.
//
//   Graph graph("net");
//   ValueId x = graph.add_input("x", Type(DType::Float32, {1, 64}));
//   ValueId w = graph.add_parameter("w", tensor);
//   ValueId y = graph.add_node(Op::MatMul, "mm", {x, w});
//   graph.set_outputs({y});
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/graph/op.h"
#include "compiler/graph/tensor.h"

namespace tiffin::graph {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;  // an omitted optional input or output; no producer

class Graph;

// Integers are int64, floats double (float attributes of ONNX widened exactly). A graph attribute is a body of If, Loop or Scan.
using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>, Tensor, std::shared_ptr<Graph>>;
using Attributes = std::map<std::string, Attribute>;

struct Node {
  Op op{};
  std::string name;              // as in the model; may be empty or repeated
  std::vector<ValueId> inputs;   // kNone where an optional input is omitted
  std::vector<ValueId> outputs;  // kNone where an optional output is omitted
  Attributes attributes;
  bool is_erased = false;

  int64_t int_attribute(const std::string& key, int64_t otherwise) const;
  double float_attribute(const std::string& key, double otherwise) const;
  std::string string_attribute(const std::string& key, const std::string& otherwise) const;
  std::vector<int64_t> ints_attribute(const std::string& key, const std::vector<int64_t>& otherwise = {}) const;
  bool has_attribute(const std::string& key) const { return attributes.count(key) != 0; }
  // Input i, or kNone when it is omitted or beyond the list.
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNone; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : kNone; }
};

enum class ValueKind : uint8_t {
  Input,      // of the graph
  Parameter,  // the model's own named tensor: users keep, compare and exchange it
  Constant,   // a tensor computed from no parameter
  Result,     // of a node
  Outer,      // in a body: a value of the enclosing graph, by name
};

struct Value {
  std::string name;  // unique in the graph
  Type type;
  ValueKind kind = ValueKind::Result;
  NodeId producer = kNone;   // of a Result
  int32_t output_index = 0;  // which output of the producer
  Tensor tensor;             // of a Parameter or Constant
  bool is_frozen = false;    // a Parameter whose value shaped the program
  bool is_erased = false;
};

class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // A name that is taken gets a suffix (".1", ".2", …) and "" a generated one.
  ValueId add_input(const std::string& name, Type type);
  ValueId add_parameter(const std::string& name, Tensor tensor);
  ValueId add_constant(const std::string& name, Tensor tensor);
  ValueId add_outer(const std::string& name, Type type);
  // Types of the results are unknown until inferred (ops/infer.h). The first form returns the only result.
  ValueId add_node(Op op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes = {});
  NodeId add_node_with_results(Op op, const std::string& name, std::vector<ValueId> inputs, const std::vector<std::string>& result_names,
                               Attributes attributes = {});

  void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  // Names the model gave its outputs; the same count as outputs(). Kept when passes replace the values.
  void set_output_names(std::vector<std::string> names) { output_names_ = std::move(names); }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }

  Node& node(NodeId id) { return *nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return *nodes_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return *values_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return *values_[static_cast<size_t>(id)]; }
  size_t node_capacity() const { return nodes_.size(); }    // ids are below this; some may be erased
  size_t value_capacity() const { return values_.size(); }  // likewise
  ValueId find_value(const std::string& name) const;        // kNone when absent

  // The tensor of a Parameter or Constant, else null.
  const Tensor* tensor_of(ValueId id) const;
  bool is_constant(ValueId id) const { return id != kNone && tensor_of(id) != nullptr; }

  // Live nodes such that producers come before users; deterministic: depth first from the outputs, then the nodes no output needs, by id.
  // Precondition: no cycle (verifier.h reports those).
  std::vector<NodeId> topological_order() const;
  // Live nodes that read each value, by id; a node that reads it twice stands twice. Indexed by ValueId.
  std::vector<std::vector<NodeId>> build_users() const;

  // Makes every reader of `from` (nodes and graph outputs) read `to`.
  void replace_uses(ValueId from, ValueId to);
  // Removes a node and its results. Precondition: no result has a reader.
  void erase_node(NodeId id);
  void erase_value(ValueId id);
  // Erases nodes and constants (never inputs, and never parameters unless `parameters_too`) that no output needs. Returns how many.
  int erase_dead(bool parameters_too = false);

 private:
  ValueId add_value(const std::string& name, Value value);
  std::string unique_name(const std::string& wanted);

  std::string name_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::map<std::string, ValueId, std::less<>> by_name_;
  std::map<std::string, int64_t> name_counters_;
  std::vector<ValueId> inputs_, outputs_;
  std::vector<std::string> output_names_;
};

// What the model file says of itself; carried beside the Graph into the manifest.
struct ModelFacts {
  std::string name, sha256, producer;
  int64_t opset = 0, ir_version = 0;
};

}  // namespace tiffin::graph
