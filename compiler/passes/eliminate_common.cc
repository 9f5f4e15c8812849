// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/eliminate_common.h"

#include <algorithm>
#include <optional>


namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

// Comparing larger constants costs more than they do.
constexpr size_t kMaxComparedBytes = 1 << 16;

bool is_commutative(Op op) {
  switch (op) {
    case Op::Add:
    case Op::And:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::Equal:
    case Op::Mul:
    case Op::Or:
    case Op::Xor:
      return true;
    default:
      return false;
  }
}

// Texts that are equal exactly when what they describe is: every part has its length in front.
void append_bytes(std::string& key, const void* bytes, size_t count) {
  key += std::to_string(count) + ':';
  key.append(static_cast<const char*>(bytes), count);
}

template <class T>
void append_list(std::string& key, const std::vector<T>& list) {
  append_bytes(key, list.data(), list.size() * sizeof(T));
}

void append_tensor(std::string& key, const Tensor& tensor) {
  key += std::to_string(static_cast<int>(tensor.dtype())) + ',';
  append_list(key, tensor.shape());
  append_bytes(key, tensor.bytes().data(), tensor.bytes().size());
}

// False for an attribute that is not compared: a body, or a large tensor.
bool append_attribute(std::string& key, const graph::Attribute& attribute) {
  key += static_cast<char>('0' + attribute.index());
  if (const auto* number = std::get_if<int64_t>(&attribute)) {
    append_bytes(key, number, sizeof(*number));
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    append_bytes(key, real, sizeof(*real));
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    append_bytes(key, text->data(), text->size());
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute)) {
    append_list(key, *numbers);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    append_list(key, *reals);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    for (const std::string& each : *texts) append_bytes(key, each.data(), each.size());
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    if (tensor->bytes().size() > kMaxComparedBytes) return false;
    append_tensor(key, *tensor);
  } else {
    return false;
  }
  return true;
}

std::optional<std::string> key_of(const Node& node) {
  std::string key = std::to_string(static_cast<int>(node.op)) + ';';
  std::vector<ValueId> inputs = node.inputs;
  if (is_commutative(node.op)) std::sort(inputs.begin(), inputs.end());
  append_list(key, inputs);
  for (const ValueId output : node.outputs) key += output == kNone ? '-' : '+';
  for (const auto& [name, attribute] : node.attributes) {
    append_bytes(key, name.data(), name.size());
    if (!append_attribute(key, attribute)) return std::nullopt;
  }
  return key;
}

void merge_constants(Graph& graph) {
  std::map<std::string, ValueId> first;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_capacity()); ++id) {
    const graph::Value& value = graph.value(id);
    if (value.is_erased || value.kind != graph::ValueKind::Constant || value.tensor.bytes().size() > kMaxComparedBytes) continue;
    std::string key;
    append_tensor(key, value.tensor);
    const auto [found, is_new] = first.try_emplace(std::move(key), id);
    if (!is_new) graph.replace_uses(id, found->second);
  }
}

// Producers come first, so operands are already merged when their readers are compared.
void merge_nodes(Graph& graph) {
  std::map<std::string, NodeId> first;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const std::optional<std::string> key = key_of(node);
    if (!key.has_value()) continue;
    const auto [found, is_new] = first.try_emplace(*key, id);
    if (is_new) continue;
    const std::vector<ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kNone) graph.replace_uses(outputs[i], graph.node(found->second).outputs[i]);
    }
  }
}

}  // namespace

Status eliminate_common(Graph& graph, PassContext&) {
  merge_constants(graph);
  merge_nodes(graph);
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
