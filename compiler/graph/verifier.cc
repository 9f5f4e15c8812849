// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/verifier.h"

#include <set>

namespace tiffin::graph {
namespace {

constexpr int kMaxDepth = 32;  // of bodies within bodies

class Verifier {
 public:
  Verifier(const Graph& graph, int depth) : graph_(graph), depth_(depth) {}

  Status run() {
    TIFFIN_TRY(check_values());
    TIFFIN_TRY(check_nodes());
    TIFFIN_TRY(check_ends());
    return check_acyclic();
  }

 private:
  bool is_live(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.value_capacity() && !graph_.value(id).is_erased; }
  bool is_live_node(NodeId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.node_capacity() && !graph_.node(id).is_erased; }
  std::string label(NodeId id) const;
  Status check_values() const;
  Status check_tensor(const Value& value) const;
  Status check_producer(ValueId id) const;
  Status check_nodes() const;
  Status check_bodies(NodeId id) const;
  Status check_ends() const;
  Status check_acyclic() const;

  const Graph& graph_;
  int depth_;
};

// "node 'mm' (MatMul)"; a node without a name is called by its first result.
std::string Verifier::label(NodeId id) const {
  const Node& node = graph_.node(id);
  std::string name = node.name;
  for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) {
    if (is_live(node.outputs[i])) name = graph_.value(node.outputs[i]).name;
  }
  return "node '" + name + "' (" + std::string(op_name(node.op)) + ")";
}

Status Verifier::check_tensor(const Value& value) const {
  const Tensor& tensor = value.tensor;
  if (tensor.is_empty()) return error(Code::InvalidModel, "value '%s' has no tensor (verify.c1)", value.name.c_str());
  uint64_t bytes = 0;
  const int64_t count = tensor.num_elements();
  if (count < 0 || !storage_bytes(tensor.dtype(), static_cast<uint64_t>(count), &bytes) || bytes != tensor.bytes().size()) {
    return error(Code::InvalidModel, "the tensor of value '%s' has %zu bytes, expected %llu for %s (verify.c2)", value.name.c_str(),
                 tensor.bytes().size(), static_cast<unsigned long long>(bytes), to_string(tensor.type()).c_str());
  }
  if (tensor.type() == value.type) return {};
  return error(Code::InvalidModel, "value '%s' is %s, its tensor is %s (verify.c3)", value.name.c_str(), to_string(value.type).c_str(),
               to_string(tensor.type()).c_str());
}

Status Verifier::check_producer(ValueId id) const {
  const Value& value = graph_.value(id);
  if (!is_live_node(value.producer)) return error(Code::InvalidModel, "value '%s' is the result of no node (verify.c4)", value.name.c_str());
  if (value.output_index >= 0 && graph_.node(value.producer).output(static_cast<size_t>(value.output_index)) == id) return {};
  return error(Code::InvalidModel, "value '%s' says it is result %d of %s, which has another there (verify.c5)", value.name.c_str(),
               value.output_index, label(value.producer).c_str());
}

Status Verifier::check_values() const {
  for (size_t i = 0; i < graph_.value_capacity(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph_.value(id);
    if (value.is_erased) continue;
    if (value.name.empty() || graph_.find_value(value.name) != id) {
      return error(Code::InvalidModel, "the name '%s' stands for two values (verify.c6)", value.name.c_str());
    }
    const bool has_tensor = value.kind == ValueKind::Parameter || value.kind == ValueKind::Constant;
    if (has_tensor) TIFFIN_TRY(check_tensor(value));
    if (value.kind == ValueKind::Result) {
      TIFFIN_TRY(check_producer(id));
    } else if (value.producer != kNone) {
      return error(Code::InvalidModel, "value '%s' is no result but has a producer (verify.c7)", value.name.c_str());
    }
    if (value.kind == ValueKind::Outer && depth_ == 0) {
      return error(Code::InvalidModel, "value '%s' belongs to an enclosing graph, but there is none (verify.c8)", value.name.c_str());
    }
  }
  return {};
}

Status Verifier::check_nodes() const {
  for (size_t i = 0; i < graph_.node_capacity(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = graph_.node(id);
    if (node.is_erased) continue;
    for (size_t at = 0; at < node.inputs.size(); ++at) {
      if (node.inputs[at] == kNone || is_live(node.inputs[at])) continue;
      return error(Code::InvalidModel, "%s: input %zu is value %d, which does not exist (verify.c9)", label(id).c_str(), at, node.inputs[at]);
    }
    if (node.outputs.empty()) return error(Code::InvalidModel, "%s: no output, expected 1 or more (verify.c10)", label(id).c_str());
    for (size_t at = 0; at < node.outputs.size(); ++at) {
      const ValueId output = node.outputs[at];
      if (output == kNone) continue;
      if (is_live(output) && graph_.value(output).kind == ValueKind::Result && graph_.value(output).producer == id) continue;
      return error(Code::InvalidModel, "%s: output %zu is value %d, which it does not produce (verify.c11)", label(id).c_str(), at, output);
    }
    TIFFIN_TRY(check_bodies(id));
  }
  return {};
}

// The last `captured` inputs of a control node stand for the Outer values of its bodies.
Status Verifier::check_bodies(NodeId id) const {
  const Node& node = graph_.node(id);
  int64_t outer_values = 0;
  bool has_body = false;
  for (const auto& [key, attribute] : node.attributes) {
    const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (body == nullptr) continue;
    has_body = true;
    if (*body == nullptr || depth_ >= kMaxDepth) {
      return error(Code::InvalidModel, "%s: body '%s' is %s (verify.c12)", label(id).c_str(), key.c_str(),
                   *body == nullptr ? "missing" : "nested too deep");
    }
    Status inner = Verifier(**body, depth_ + 1).run();
    if (!inner.is_ok()) return std::move(inner).with_context("%s, body '%s'", label(id).c_str(), key.c_str());
    for (size_t i = 0; i < (*body)->value_capacity(); ++i) outer_values += (*body)->value(static_cast<ValueId>(i)).kind == ValueKind::Outer;
  }
  const int64_t captured = node.int_attribute("captured", 0);
  if (!has_body || (captured == outer_values && captured <= static_cast<int64_t>(node.inputs.size()))) return {};
  return error(Code::InvalidModel, "%s: attribute 'captured' is %lld of %zu inputs, the bodies read %lld outer values (verify.c13)",
               label(id).c_str(), static_cast<long long>(captured), node.inputs.size(), static_cast<long long>(outer_values));
}

// The graph's inputs and outputs.
Status Verifier::check_ends() const {
  std::set<ValueId> inputs;
  for (const ValueId input : graph_.inputs()) {
    if (!is_live(input) || graph_.value(input).kind != ValueKind::Input || !inputs.insert(input).second) {
      return error(Code::InvalidModel, "input %d of graph '%s' is no input value of its own (verify.c14)", input, graph_.name().c_str());
    }
  }
  for (size_t i = 0; i < graph_.value_capacity(); ++i) {
    const Value& value = graph_.value(static_cast<ValueId>(i));
    if (value.is_erased || value.kind != ValueKind::Input || inputs.count(static_cast<ValueId>(i)) != 0) continue;
    return error(Code::InvalidModel, "value '%s' is an input that graph '%s' does not list (verify.c15)", value.name.c_str(), graph_.name().c_str());
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    if (is_live(graph_.outputs()[i])) continue;
    return error(Code::InvalidModel, "output %zu of graph '%s' does not exist (verify.c16)", i, graph_.name().c_str());
  }
  if (graph_.output_names().empty() || graph_.output_names().size() == graph_.outputs().size()) return {};
  return error(Code::InvalidModel, "graph '%s' has %zu outputs and %zu names for them (verify.c17)", graph_.name().c_str(), graph_.outputs().size(),
               graph_.output_names().size());
}

// Depth first; a node that is met again while its operands are being visited stands on a cycle.
Status Verifier::check_acyclic() const {
  enum class Mark : uint8_t { New, Open, Done };
  std::vector<Mark> marks(graph_.node_capacity(), Mark::New);
  std::vector<std::pair<NodeId, size_t>> stack;
  for (size_t root = 0; root < graph_.node_capacity(); ++root) {
    if (marks[root] != Mark::New || graph_.node(static_cast<NodeId>(root)).is_erased) continue;
    marks[root] = Mark::Open;
    stack.emplace_back(static_cast<NodeId>(root), 0);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& node = graph_.node(id);
      if (next == node.inputs.size()) {
        marks[static_cast<size_t>(id)] = Mark::Done;
        stack.pop_back();
        continue;
      }
      const ValueId input = node.inputs[next++];
      const NodeId producer = input == kNone ? kNone : graph_.value(input).producer;
      if (producer == kNone || marks[static_cast<size_t>(producer)] == Mark::Done) continue;
      if (marks[static_cast<size_t>(producer)] == Mark::Open) {
        return error(Code::InvalidModel, "%s: its input '%s' depends on its own result, a cycle (verify.c18)", label(id).c_str(),
                     graph_.value(input).name.c_str());
      }
      marks[static_cast<size_t>(producer)] = Mark::Open;
      stack.emplace_back(producer, 0);
    }
  }
  return {};
}

}  // namespace

Status verify_graph(const Graph& graph) { return Verifier(graph, 0).run(); }

}  // namespace tiffin::graph
