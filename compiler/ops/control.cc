// SPDX-License-Identifier: Apache-2.0
// Inference of If, Loop and Scan through their bodies. What differs between branches or rounds becomes open.
#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Shape;
using graph::Type;

Graph& body_of(const Inference& inference, const char* key) { return *std::get<std::shared_ptr<Graph>>(inference.node().attributes.at(key)); }

Status count_error(const Inference& inference, const char* what, size_t actual, size_t expected) {
  return node_error(Code::InvalidModel, inference.graph(), inference.node(), "the body has %zu %s, expected %zu (control.c1)", actual, what,
                    expected);
}

// Inputs that are the operator's own: those that bodies capture, as many as attribute 'captured' says, stand behind them.
Status count_own_inputs(const Inference& inference, size_t* out_count) {
  const graph::Node& node = inference.node();
  const int64_t captured = node.int_attribute("captured", 0);
  if (captured < 0 || captured > static_cast<int64_t>(node.inputs.size())) {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'captured' is %lld, the node has %zu inputs (control.c3)",
                      static_cast<long long>(captured), node.inputs.size());
  }
  *out_count = node.inputs.size() - static_cast<size_t>(captured);
  return {};
}

Type type_of_output(const Graph& body, size_t index) {
  const graph::ValueId id = body.outputs()[index];
  return id == graph::kNone ? Type() : body.value(id).type;
}

// The type of a value that is `a` in one case and `b` in the other; dimensions that differ are fresh ones of result `output`.
Status merge(const Inference& inference, const Type& a, const Type& b, size_t output, Type* out) {
  Type& merged = *out;
  merged.shape.reset();
  merged.dtype = a.dtype == DType::Undefined ? b.dtype : a.dtype;
  if (a.dtype != b.dtype && a.dtype != DType::Undefined && b.dtype != DType::Undefined) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "result %zu is %s in one case and %s in another (control.c2)", output,
                      graph::to_string(a).c_str(), graph::to_string(b).c_str());
  }
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return {};
  merged.shape.emplace();
  for (size_t axis = 0; axis < a.rank(); ++axis) {
    const bool is_same = (*a.shape)[axis] == (*b.shape)[axis];
    merged.shape->push_back(is_same ? (*a.shape)[axis] : inference.fresh_dim(output, axis));
  }
  return {};
}

// Infers the body until the carried values have types that a further round keeps. carried[i] is body input first_input + i and body output
// first_output + i. The node's captured inputs begin at first_captured.
Status settle_carried(Inference& inference, Graph& body, size_t first_input, size_t first_output, size_t first_captured, std::vector<Type>* carried) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < carried->size(); ++i) body.value(body.inputs()[first_input + i]).type = (*carried)[i];
    size_t captured = first_captured;
    TIFFIN_TRY(infer_body(inference, body, &captured));
    bool is_settled = true;
    for (size_t i = 0; i < carried->size(); ++i) {
      Type merged;
      TIFFIN_TRY(merge(inference, (*carried)[i], type_of_output(body, first_output + i), i, &merged));
      if (merged == (*carried)[i]) continue;
      is_settled = false;
      // What still changes late has no lasting shape.
      if (round + 2 >= kRounds) merged.shape.reset();
      (*carried)[i] = std::move(merged);
    }
    if (is_settled) return {};
  }
  return {};
}

}  // namespace

Status infer_nothing(Inference&) { return {}; }

Status infer_if(Inference& inference) {
  Graph& then_branch = body_of(inference, "then_branch");
  Graph& else_branch = body_of(inference, "else_branch");
  const size_t count = inference.node().outputs.size();
  size_t own_inputs = 0;
  TIFFIN_TRY(count_own_inputs(inference, &own_inputs));
  if (own_inputs != 1) return node_error(Code::InvalidModel, inference.graph(), inference.node(), "%zu inputs, expected 1 (arity.c1)", own_inputs);
  size_t captured = own_inputs;
  for (Graph* branch : {&then_branch, &else_branch}) {
    if (!branch->inputs().empty()) return count_error(inference, "inputs", branch->inputs().size(), 0);
    if (branch->outputs().size() != count) return count_error(inference, "outputs", branch->outputs().size(), count);
    TIFFIN_TRY(infer_body(inference, *branch, &captured));
  }
  for (size_t i = 0; i < count; ++i) {
    Type type;
    TIFFIN_TRY(merge(inference, type_of_output(then_branch, i), type_of_output(else_branch, i), i, &type));
    TIFFIN_TRY(inference.set(i, type.dtype, std::move(type.shape)));
  }
  return {};
}

// body: (iteration, condition, carried...) -> (condition, carried..., scanned...)
Status infer_loop(Inference& inference) {
  const graph::Node& node = inference.node();
  Graph& body = body_of(inference, "body");
  size_t own_inputs = 0;
  TIFFIN_TRY(count_own_inputs(inference, &own_inputs));
  if (own_inputs < 2) {
    return node_error(Code::InvalidModel, inference.graph(), node, "%zu inputs, expected 2 or more (arity.c1)", own_inputs);
  }
  const size_t carried_count = own_inputs - 2;
  if (body.inputs().size() != own_inputs) return count_error(inference, "inputs", body.inputs().size(), own_inputs);
  if (node.outputs.size() < carried_count) return count_error(inference, "carried values", carried_count, node.outputs.size());
  if (body.outputs().size() != node.outputs.size() + 1) return count_error(inference, "outputs", body.outputs().size(), node.outputs.size() + 1);
  body.value(body.inputs()[0]).type = Type(DType::Int64, {});
  body.value(body.inputs()[1]).type = Type(DType::Bool, {});
  std::vector<Type> carried;
  for (size_t i = 0; i < carried_count; ++i) carried.push_back(inference.type(2 + i));
  TIFFIN_TRY(settle_carried(inference, body, 2, 1, own_inputs, &carried));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i < carried_count) {
      TIFFIN_TRY(inference.set(i, carried[i].dtype, carried[i].shape));
      continue;
    }
    Type element = type_of_output(body, i + 1);
    if (element.shape) element.shape->insert(element.shape->begin(), inference.fresh_dim(i, 0));
    TIFFIN_TRY(inference.set(i, element.dtype, std::move(element.shape)));
  }
  return {};
}

namespace {

Result<int64_t> scan_axis(const Inference& inference, const char* key, size_t index, size_t rank) {
  const std::vector<int64_t> axes = inference.node().ints_attribute(key);
  if (axes.empty()) return int64_t{0};
  if (index >= axes.size()) return count_error(inference, key, axes.size(), index + 1);
  return normalized_axis(inference.graph(), inference.node(), axes[index], static_cast<int64_t>(rank), key);
}

// Sets the types of the body's scanned inputs, one slice of the node's, and finds the number of steps.
Status bind_scanned(const Inference& inference, Graph& body, size_t state_count, size_t own_inputs, Dim* steps) {
  for (size_t i = state_count; i < own_inputs; ++i) {
    Type slice = inference.type(i);
    if (slice.shape) {
      TIFFIN_TRY(expect_min_rank(inference, i, 1, "scan.c1"));
      TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, scan_axis(inference, "scan_input_axes", i - state_count, slice.rank()));
      const Dim length = (*slice.shape)[static_cast<size_t>(axis)];
      TIFFIN_TRY(expect_dim(inference, i, static_cast<size_t>(axis), *steps, "scan.c2"));
      if (!steps->is_static()) *steps = length;
      slice.shape->erase(slice.shape->begin() + axis);
    }
    body.value(body.inputs()[i]).type = std::move(slice);
  }
  return {};
}

}  // namespace

// body: (state..., slices...) -> (state..., slices of results...)
Status infer_scan(Inference& inference) {
  const graph::Node& node = inference.node();
  Graph& body = body_of(inference, "body");
  size_t own_inputs = 0;
  TIFFIN_TRY(count_own_inputs(inference, &own_inputs));
  const auto input_count = static_cast<int64_t>(own_inputs);
  const int64_t scanned = node.int_attribute("num_scan_inputs", 0);
  if (scanned < 1 || scanned > input_count) {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'num_scan_inputs' is %lld, expected 1 to %lld (scan.c3)",
                      static_cast<long long>(scanned), static_cast<long long>(input_count));
  }
  const auto state_count = static_cast<size_t>(input_count - scanned);
  if (body.inputs().size() != own_inputs) return count_error(inference, "inputs", body.inputs().size(), own_inputs);
  if (body.outputs().size() != node.outputs.size()) return count_error(inference, "outputs", body.outputs().size(), node.outputs.size());
  if (node.outputs.size() < state_count) return count_error(inference, "states", state_count, node.outputs.size());
  Dim steps = inference.fresh_dim(state_count, 0);
  TIFFIN_TRY(bind_scanned(inference, body, state_count, own_inputs, &steps));
  std::vector<Type> states;
  for (size_t i = 0; i < state_count; ++i) states.push_back(inference.type(i));
  TIFFIN_TRY(settle_carried(inference, body, 0, 0, own_inputs, &states));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i < state_count) {
      TIFFIN_TRY(inference.set(i, states[i].dtype, states[i].shape));
      continue;
    }
    Type stacked = type_of_output(body, i);
    if (stacked.shape) {
      TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, scan_axis(inference, "scan_output_axes", i - state_count, stacked.rank() + 1));
      stacked.shape->insert(stacked.shape->begin() + axis, steps);
    }
    TIFFIN_TRY(inference.set(i, stacked.dtype, std::move(stacked.shape)));
  }
  return {};
}

}  // namespace tiffin::ops
