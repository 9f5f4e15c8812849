// SPDX-License-Identifier: Apache-2.0
// Attributes that became inputs.
#include <cfloat>

#include "compiler/import/onnx/upgrade_steps.h"

namespace tiffin::import {

using graph::Tensor;
using Ints = std::vector<int64_t>;

Status decline(const Draft& draft, const std::string& reason) {
  return error(Code::UnsupportedOperator, "%s with %s", draft.op_type.c_str(), reason.c_str());
}

namespace {

Status missing_attribute(const Draft& draft, const char* attribute) {
  return error(Code::InvalidModel, "attribute '%s' is missing, opset %lld requires it", attribute, static_cast<long long>(draft.opset));
}

}  // namespace

Tensor float_scalar(DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::Float32:
      return Tensor::scalar_float(narrow);
    case DType::Float64:
      return Tensor::from<double>(dtype, {}, {&value, 1});
    case DType::Float16: {
      const uint16_t bits = graph::float_to_half(narrow);
      return Tensor::from<uint16_t>(dtype, {}, {&bits, 1});
    }
    case DType::BFloat16: {
      const uint16_t bits = graph::float_to_bfloat16(narrow);
      return Tensor::from<uint16_t>(dtype, {}, {&bits, 1});
    }
    default:
      return Tensor();
  }
}

Status axes_to_input(Draft* draft, Emitter* emitter) {
  const auto axes = draft->take<Ints>("axes");
  if (axes && !axes->empty()) {
    draft->set_input(1, emitter->constant(*draft, *axes));
  } else if (draft->op == graph::Op::Unsqueeze) {
    return missing_attribute(*draft, "axes");
  }
  return {};
}

Status clip_bounds_to_inputs(Draft* draft, Emitter* emitter) {
  // The defaults are the largest floats, so that infinities are clipped unless the bound is given.
  const double bounds[] = {draft->take<double>("min").value_or(-FLT_MAX), draft->take<double>("max").value_or(FLT_MAX)};
  for (size_t i = 0; i < 2; ++i) {
    Tensor bound = float_scalar(emitter->dtype(draft->input(0)), bounds[i]);
    if (bound.is_empty()) return decline(*draft, "bounds for an element type that is not known before inference");
    draft->set_input(i + 1, emitter->constant(*draft, std::move(bound)));
  }
  return {};
}

Status dropout_ratio_to_input(Draft* draft, Emitter* emitter) {
  if (draft->opset < 10 && draft->has_output(1)) {
    if (draft->is_read[1]) return decline(*draft, "a mask of the data's element type");
    draft->outputs.resize(1);
  }
  draft->set_input(1, emitter->constant(*draft, Tensor::scalar_float(static_cast<float>(draft->take<double>("ratio").value_or(0.5)))));
  return {};
}

Status pad_to_inputs(Draft* draft, Emitter* emitter) {
  const auto pads = draft->take<Ints>("pads");
  if (!pads) return missing_attribute(*draft, "pads");
  draft->set_input(1, emitter->constant(*draft, *pads));
  const double value = draft->take<double>("value").value_or(0);
  if (value == 0) return {};
  Tensor scalar = float_scalar(emitter->dtype(draft->input(0)), value);
  if (scalar.is_empty()) return decline(*draft, "a value for an element type that is not known before inference");
  draft->set_input(2, emitter->constant(*draft, std::move(scalar)));
  return {};
}

Status slice_to_inputs(Draft* draft, Emitter* emitter) {
  const auto starts = draft->take<Ints>("starts");
  const auto ends = draft->take<Ints>("ends");
  if (!starts || !ends) return missing_attribute(*draft, starts ? "ends" : "starts");
  draft->set_input(1, emitter->constant(*draft, *starts));
  draft->set_input(2, emitter->constant(*draft, *ends));
  if (const auto axes = draft->take<Ints>("axes")) draft->set_input(3, emitter->constant(*draft, *axes));
  return {};
}

Status split_to_input(Draft* draft, Emitter* emitter) {
  if (const auto sizes = draft->take<Ints>("split")) draft->set_input(1, emitter->constant(*draft, *sizes));
  return {};
}

Status split_equally(Draft* draft, Emitter*) {
  if (draft->input(1) == graph::kNone) draft->attributes["num_outputs"] = static_cast<int64_t>(draft->outputs.size());
  return {};
}

Status topk_to_input(Draft* draft, Emitter* emitter) {
  const auto k = draft->take<int64_t>("k");
  if (!k) return missing_attribute(*draft, "k");
  draft->set_input(1, emitter->constant(*draft, Ints{*k}));
  return {};
}

}  // namespace tiffin::import
