// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/recurrent_rule.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;

struct ActivationRow {
  const char* name;
  double alpha, beta;  // ONNX's defaults
  bool has_alpha, has_beta;
};

constexpr ActivationRow kActivations[] = {
    {"Affine", 1, 0, true, true},     {"Relu", 0, 0, false, false},          {"Tanh", 0, 0, false, false},
    {"Sigmoid", 0, 0, false, false},  {"LeakyRelu", 0.01, 0, true, false},   {"ThresholdedRelu", 1, 0, true, false},
    {"ScaledTanh", 1, 1, true, true}, {"HardSigmoid", 0.2, 0.5, true, true}, {"Elu", 1, 0, true, false},
    {"Softsign", 0, 0, false, false}, {"Softplus", 0, 0, false, false},
};

bool equals_ignoring_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x | 32) == (y | 32); });
}

int gate_count(Op op) { return op == Op::LSTM ? 4 : op == Op::GRU ? 3 : 1; }

std::vector<std::string> default_activations(Op op, int directions) {
  std::vector<std::string> names;
  for (int direction = 0; direction < directions; ++direction) {
    if (op != Op::RNN) names.emplace_back("Sigmoid");
    names.emplace_back("Tanh");
    if (op == Op::LSTM) names.emplace_back("Tanh");
  }
  return names;
}

std::vector<double> floats(const Node& node, const char* key) {
  const auto found = node.attributes.find(key);
  const auto* list = found == node.attributes.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  return list == nullptr ? std::vector<double>{} : *list;
}

// Parameters are taken from the lists in order, by the functions that have them.
Status read_activations(const Graph& graph, const Node& node, Recurrence* recurrence) {
  std::vector<std::string> names = default_activations(node.op, recurrence->directions);
  const size_t expected = names.size();
  const auto found = node.attributes.find("activations");
  if (found != node.attributes.end()) {
    names = std::get<std::vector<std::string>>(found->second);
    // RNN's default names both directions; a single one uses the first.
    if (node.op == Op::RNN && names.size() > expected) names.resize(expected);
  }
  if (names.size() != expected) {
    return node_error(Code::InvalidModel, graph, node, "attribute 'activations' has %zu names, expected %zu (recurrent.c1)", names.size(), expected);
  }
  const std::vector<double> alphas = floats(node, "activation_alpha");
  const std::vector<double> betas = floats(node, "activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const auto* row =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const ActivationRow& r) { return equals_ignoring_case(name, r.name); });
    if (row == std::end(kActivations)) {
      return node_error(Code::InvalidModel, graph, node, "activation '%s' is not one that ONNX defines (recurrent.c2)", name.c_str());
    }
    GateActivation activation{row->name, row->alpha, row->beta};
    if (row->has_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (row->has_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    recurrence->activations.push_back(std::move(activation));
  }
  return {};
}

Status read_direction(const Graph& graph, const Node& node, Recurrence* recurrence) {
  const std::string direction = node.string_attribute("direction", "forward");
  recurrence->directions = direction == "bidirectional" ? 2 : 1;
  recurrence->is_reverse = direction == "reverse";
  if (direction == "forward" || direction == "reverse" || direction == "bidirectional") return {};
  return node_error(Code::InvalidModel, graph, node, "attribute 'direction' is '%s', expected forward, reverse or bidirectional (recurrent.c3)",
                    direction.c_str());
}

// Takes over a known extent, or compares it with the one known before.
Status unify(const Graph& graph, const Node& node, size_t input, size_t axis, int64_t multiplier, int64_t* extent) {
  const graph::Type& type = graph.value(node.inputs[input]).type;
  const int64_t actual = (*type.shape)[axis].value();
  if (actual < 0) return {};
  if (*extent < 0 && actual % multiplier == 0) return *extent = actual / multiplier, Status();
  if (*extent >= 0 && actual == multiply_extents(*extent, multiplier)) return {};
  return node_error(Code::ShapeMismatch, graph, node, "input %zu is %s, expected %lld at axis %zu (recurrent.c4)", input,
                    graph::to_string(type).c_str(), static_cast<long long>(*extent < 0 ? multiplier : multiply_extents(*extent, multiplier)), axis);
}

struct AxisRule {
  int64_t* extent;
  int64_t multiplier;
};

Status check_input(const Graph& graph, const Node& node, size_t input, std::initializer_list<AxisRule> rules) {
  if (node.input(input) == graph::kNone) return {};
  const graph::Type& type = graph.value(node.inputs[input]).type;
  if (!type.has_rank()) return {};
  if (type.rank() != rules.size()) {
    return node_error(Code::ShapeMismatch, graph, node, "input %zu is %s, expected rank %zu (recurrent.c5)", input, graph::to_string(type).c_str(),
                      rules.size());
  }
  size_t axis = 0;
  for (const AxisRule& rule : rules) TIFFIN_TRY(unify(graph, node, input, axis++, rule.multiplier, rule.extent));
  return {};
}

Status read_extents(const Graph& graph, const Node& node, Recurrence* r) {
  int64_t directions = r->directions;
  const AxisRule of_direction{&directions, 1}, batch{&r->batch, 1}, hidden{&r->hidden, 1}, input{&r->input, 1}, steps{&r->steps, 1};
  TIFFIN_TRY(r->is_batch_first ? check_input(graph, node, 0, {batch, steps, input}) : check_input(graph, node, 0, {steps, batch, input}));
  TIFFIN_TRY(check_input(graph, node, 2, {of_direction, {&r->hidden, r->gates}, hidden}));
  TIFFIN_TRY(check_input(graph, node, 1, {of_direction, {&r->hidden, r->gates}, input}));
  TIFFIN_TRY(check_input(graph, node, 3, {of_direction, {&r->hidden, 2 * r->gates}}));
  TIFFIN_TRY(check_input(graph, node, 4, {batch}));
  for (const size_t state : {size_t{5}, size_t{6}}) {
    if (state == 6 && node.op != Op::LSTM) break;
    TIFFIN_TRY(r->is_batch_first ? check_input(graph, node, state, {batch, of_direction, hidden})
                                 : check_input(graph, node, state, {of_direction, batch, hidden}));
  }
  return node.op == Op::LSTM ? check_input(graph, node, 7, {of_direction, {&r->hidden, 3}}) : Status();
}

}  // namespace

Result<Recurrence> recurrence_of(const Graph& graph, const Node& node) {
  Recurrence recurrence;
  recurrence.gates = gate_count(node.op);
  const int64_t layout = node.int_attribute("layout", 0);
  if (layout != 0 && layout != 1) {
    return node_error(Code::InvalidModel, graph, node, "attribute 'layout' is %lld, expected 0 or 1 (recurrent.c6)", static_cast<long long>(layout));
  }
  recurrence.is_batch_first = layout == 1;
  recurrence.hidden = node.int_attribute("hidden_size", -1);
  if (node.has_attribute("hidden_size") && recurrence.hidden < 1) {
    return node_error(Code::InvalidModel, graph, node, "attribute 'hidden_size' is %lld, expected 1 or more (recurrent.c7)",
                      static_cast<long long>(recurrence.hidden));
  }
  recurrence.has_clip = node.has_attribute("clip");
  recurrence.clip = node.float_attribute("clip", 0);
  TIFFIN_TRY(read_direction(graph, node, &recurrence));
  TIFFIN_TRY(read_activations(graph, node, &recurrence));
  TIFFIN_TRY(read_extents(graph, node, &recurrence));
  return recurrence;
}

}  // namespace tiffin::ops
