// SPDX-License-Identifier: Apache-2.0
// Nodes on their way from the file into the Graph: a Draft is one ONNX node whose inputs are resolved, the Emitter writes it and the nodes
// and constants that its upgrade needs beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tiffin::import {

struct Draft {
  std::string op_type;  // as in the model; may be one that only older opsets have
  graph::Op op{};
  int64_t opset = 0;
  std::string name;
  std::vector<graph::ValueId> inputs;
  std::vector<std::string> outputs;  // "" where omitted
  std::vector<bool> is_read;         // of each output: some node or the graph's outputs use it
  graph::Attributes attributes;

  graph::ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : graph::kNone; }
  void set_input(size_t i, graph::ValueId id) {
    if (inputs.size() <= i) inputs.resize(i + 1, graph::kNone);
    inputs[i] = id;
  }
  bool has_output(size_t i) const { return i < outputs.size() && !outputs[i].empty(); }
  // The attribute, or `otherwise` when it is absent or of another type.
  template <class T>
  T get(const std::string& key, T otherwise) const {
    const auto found = attributes.find(key);
    const T* value = found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value == nullptr ? otherwise : *value;
  }
  // Removes an attribute and returns it, if it is there with that type.
  template <class T>
  std::optional<T> take(const std::string& key) {
    const auto found = attributes.find(key);
    const T* value = found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
    if (value == nullptr) return std::nullopt;
    T out = *value;
    attributes.erase(found);
    return out;
  }
};

class Emitter {
 public:
  explicit Emitter(graph::Graph* graph) : graph_(graph) {}

  // Writes the node and sets the element types of its results.
  graph::NodeId emit(const Draft& draft);
  // A node beside `draft`, named after it; returns its only result.
  graph::ValueId emit(const Draft& draft, graph::Op op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {});
  graph::ValueId constant(const Draft& draft, graph::Tensor tensor) { return graph_->add_constant(draft.name + ".constant", std::move(tensor)); }
  graph::ValueId constant(const Draft& draft, const std::vector<int64_t>& elements) { return constant(draft, graph::Tensor::int64s(elements)); }

  DType dtype(graph::ValueId id) const { return id == graph::kNone ? DType::Undefined : graph_->value(id).type.dtype; }
  // Absent unless the value is an input or a constant, whose rank is told before inference.
  std::optional<int64_t> rank(graph::ValueId id) const;
  // Null unless the value is a parameter or constant.
  const graph::Tensor* tensor(graph::ValueId id) const { return graph_->tensor_of(id); }

 private:
  void set_dtypes(graph::NodeId id);

  graph::Graph* graph_;
};

}  // namespace tiffin::import
