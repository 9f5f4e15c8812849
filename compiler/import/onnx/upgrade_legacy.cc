// SPDX-License-Identifier: Apache-2.0
// Opsets below 7, as far as their forms have a newer spelling: training was the default, and broadcasting an attribute.
#include "compiler/import/onnx/upgrade_steps.h"

namespace tiffin::import {

using graph::Op;
using graph::ValueId;

namespace {

struct FirstForm {
  const char* op_type;
  int64_t opset;
};

// Operators whose form changed at or before opset 6, and the oldest opset whose form is understood.
constexpr FirstForm kFirstForms[] = {
    {"Abs", 6},
    {"Add", 6},
    {"BatchNormalization", 6},
    {"Cast", 6},
    {"Ceil", 6},
    {"Clip", 6},
    {"Concat", 4},
    {"Div", 6},
    {"Dropout", 6},
    {"Elu", 6},
    {"Exp", 6},
    {"Floor", 6},
    {"GRU", 3},
    {"Gemm", 6},
    {"HardSigmoid", 6},
    {"InstanceNormalization", 6},
    {"LeakyRelu", 6},
    {"Log", 6},
    {"LpPool", 2},
    {"Max", 6},
    {"Mean", 6},
    {"Min", 6},
    {"Mul", 6},
    {"Neg", 6},
    {"PRelu", 6},
    {"Pad", 2},
    {"Reciprocal", 6},
    {"Relu", 6},
    {"Reshape", 5},
    {"Selu", 6},
    {"Sigmoid", 6},
    {"Split", 2},
    {"Sqrt", 6},
    {"Sub", 6},
    {"Sum", 6},
    {"Tanh", 6},
    {"Tile", 6},
};

// `operand` with ones behind its shape, so that its first axis meets `axis` of the other operand.
Status align_axis(Draft* draft, Emitter* emitter, ValueId other, size_t operand, int64_t axis) {
  const auto rank = emitter->rank(other);
  const auto own = emitter->rank(draft->input(operand));
  if (!rank || !own) return decline(*draft, "a broadcast axis whose ranks are not known before inference");
  const int64_t first = axis < 0 ? axis + *rank : axis;
  const int64_t behind = *rank - first - *own;
  if (first < 0 || behind < 0) {
    return error(Code::InvalidModel, "attribute 'axis' is %lld, the operands have ranks %lld and %lld", static_cast<long long>(axis),
                 static_cast<long long>(*rank), static_cast<long long>(*own));
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < behind; ++i) axes.push_back(*own + i);
  if (!axes.empty()) draft->set_input(operand, emitter->emit(*draft, Op::Unsqueeze, {draft->input(operand), emitter->constant(*draft, axes)}));
  return {};
}

}  // namespace

Status legacy_form(Draft* draft, Emitter*) {
  draft->attributes.erase("consumed_inputs");  // a hint for memory
  for (const FirstForm& row : kFirstForms) {
    if (draft->op_type == row.op_type && draft->opset < row.opset) return decline(*draft, "the form of opset " + std::to_string(draft->opset));
  }
  return {};
}

Status legacy_broadcast(Draft* draft, Emitter* emitter) {
  const bool is_broadcast = draft->take<int64_t>("broadcast").value_or(0) != 0;
  const auto axis = draft->take<int64_t>("axis");
  // Without an axis the last ones are matched, as in the newest form.
  if (!is_broadcast || !axis) return {};
  return align_axis(draft, emitter, draft->input(0), 1, *axis);
}

// A slope of more than one element belongs to the channels, axis 1.
Status legacy_slope(Draft* draft, Emitter* emitter) {
  const graph::Tensor* slope = emitter->tensor(draft->input(1));
  if (slope != nullptr && slope->num_elements() == 1) return {};
  return align_axis(draft, emitter, draft->input(0), 1, 1);
}

Status legacy_is_test(Draft* draft, Emitter*) {
  if (draft->take<int64_t>("is_test").value_or(0) == 0) return decline(*draft, "is_test=0");
  return {};
}

Status legacy_recurrent(Draft* draft, Emitter*) {
  draft->attributes.erase("output_sequence");  // whether Y is kept; the output's presence tells that
  return {};
}

}  // namespace tiffin::import
