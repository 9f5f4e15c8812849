// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/graph.h"

#include <algorithm>

namespace tiffin::graph {
namespace {

template <class T>
T attribute_or(const Attributes& attributes, const std::string& key, const T& otherwise) {
  const auto found = attributes.find(key);
  if (found == attributes.end()) return otherwise;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? otherwise : *value;
}

}  // namespace

int64_t Node::int_attribute(const std::string& key, int64_t otherwise) const { return attribute_or(attributes, key, otherwise); }
double Node::float_attribute(const std::string& key, double otherwise) const { return attribute_or(attributes, key, otherwise); }
std::string Node::string_attribute(const std::string& key, const std::string& otherwise) const { return attribute_or(attributes, key, otherwise); }
std::vector<int64_t> Node::ints_attribute(const std::string& key, const std::vector<int64_t>& otherwise) const {
  return attribute_or(attributes, key, otherwise);
}

std::string Graph::unique_name(const std::string& wanted) {
  const std::string stem = wanted.empty() ? "v" : wanted;
  if (!wanted.empty() && by_name_.find(wanted) == by_name_.end()) return wanted;
  int64_t& counter = name_counters_[stem];
  std::string name;
  do {
    name = stem + (wanted.empty() ? "" : ".") + std::to_string(++counter);
  } while (by_name_.find(name) != by_name_.end());
  return name;
}

ValueId Graph::add_value(const std::string& name, Value value) {
  const auto id = static_cast<ValueId>(values_.size());
  value.name = unique_name(name);
  by_name_[value.name] = id;
  values_.push_back(std::make_unique<Value>(std::move(value)));
  return id;
}

ValueId Graph::add_input(const std::string& name, Type type) {
  Value value;
  value.type = std::move(type);
  value.kind = ValueKind::Input;
  inputs_.push_back(add_value(name, std::move(value)));
  return inputs_.back();
}

ValueId Graph::add_parameter(const std::string& name, Tensor tensor) {
  Value value;
  value.type = tensor.type();
  value.kind = ValueKind::Parameter;
  value.tensor = std::move(tensor);
  return add_value(name, std::move(value));
}

ValueId Graph::add_constant(const std::string& name, Tensor tensor) {
  Value value;
  value.type = tensor.type();
  value.kind = ValueKind::Constant;
  value.tensor = std::move(tensor);
  return add_value(name, std::move(value));
}

ValueId Graph::add_outer(const std::string& name, Type type) {
  Value value;
  value.type = std::move(type);
  value.kind = ValueKind::Outer;
  return add_value(name, std::move(value));
}

ValueId Graph::add_node(Op op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes) {
  const NodeId id = add_node_with_results(op, name, std::move(inputs), {name}, std::move(attributes));
  return node(id).outputs[0];
}

NodeId Graph::add_node_with_results(Op op, const std::string& name, std::vector<ValueId> inputs, const std::vector<std::string>& result_names,
                                    Attributes attributes) {
  const auto id = static_cast<NodeId>(nodes_.size());
  auto node = std::make_unique<Node>();
  node->op = op;
  node->name = name;
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  for (size_t i = 0; i < result_names.size(); ++i) {
    Value value;
    value.producer = id;
    value.output_index = static_cast<int32_t>(i);
    node->outputs.push_back(add_value(result_names[i], std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return id;
}

ValueId Graph::find_value(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNone : found->second;
}

const Tensor* Graph::tensor_of(ValueId id) const {
  if (id == kNone) return nullptr;
  const Value& v = value(id);
  return v.kind == ValueKind::Parameter || v.kind == ValueKind::Constant ? &v.tensor : nullptr;
}

std::vector<NodeId> Graph::topological_order() const {
  std::vector<NodeId> order;
  std::vector<char> seen(nodes_.size(), 0);
  std::vector<std::pair<NodeId, size_t>> stack;  // node, next input to visit
  const auto visit = [&](NodeId root) {
    if (root == kNone || seen[static_cast<size_t>(root)] != 0) return;
    seen[static_cast<size_t>(root)] = 1;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& current = node(id);
      if (next == current.inputs.size()) {
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const ValueId input = current.inputs[next++];
      const NodeId producer = input == kNone ? kNone : value(input).producer;
      if (producer == kNone || seen[static_cast<size_t>(producer)] != 0) continue;
      seen[static_cast<size_t>(producer)] = 1;
      stack.emplace_back(producer, 0);
    }
  };
  for (const ValueId output : outputs_) {
    if (output != kNone) visit(value(output).producer);
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (!nodes_[id]->is_erased) visit(static_cast<NodeId>(id));
  }
  return order;
}

std::vector<std::vector<NodeId>> Graph::build_users() const {
  std::vector<std::vector<NodeId>> users(values_.size());
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id]->is_erased) continue;
    for (const ValueId input : nodes_[id]->inputs) {
      if (input != kNone) users[static_cast<size_t>(input)].push_back(static_cast<NodeId>(id));
    }
  }
  return users;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (const auto& current : nodes_) {
    if (!current->is_erased) std::replace(current->inputs.begin(), current->inputs.end(), from, to);
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::erase_value(ValueId id) {
  Value& v = value(id);
  v.is_erased = true;
  v.tensor = Tensor();
  by_name_.erase(v.name);
}

void Graph::erase_node(NodeId id) {
  Node& erased = node(id);
  erased.is_erased = true;
  for (const ValueId output : erased.outputs) {
    if (output != kNone) erase_value(output);
  }
  erased.inputs.clear();
  erased.attributes.clear();
}

int Graph::erase_dead(bool parameters_too) {
  std::vector<char> needed(values_.size(), 0);
  std::vector<ValueId> work(outputs_);
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || needed[static_cast<size_t>(id)] != 0) continue;
    needed[static_cast<size_t>(id)] = 1;
    if (value(id).producer == kNone) continue;
    const Node& producer = node(value(id).producer);
    work.insert(work.end(), producer.inputs.begin(), producer.inputs.end());
  }
  int erased = 0;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& current = *nodes_[id];
    const auto is_needed = [&](ValueId output) { return output != kNone && needed[static_cast<size_t>(output)] != 0; };
    if (current.is_erased || std::any_of(current.outputs.begin(), current.outputs.end(), is_needed)) continue;
    erase_node(static_cast<NodeId>(id));
    ++erased;
  }
  for (size_t id = 0; id < values_.size(); ++id) {
    const Value& v = *values_[id];
    const bool may_go = v.kind == ValueKind::Constant || (parameters_too && v.kind == ValueKind::Parameter);
    if (v.is_erased || !may_go || needed[id] != 0) continue;
    erase_value(static_cast<ValueId>(id));
    ++erased;
  }
  return erased;
}

}  // namespace tiffin::graph
