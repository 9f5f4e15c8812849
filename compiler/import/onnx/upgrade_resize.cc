// SPDX-License-Identifier: Apache-2.0
// Upsample and Resize. Both began with pixels at integer coordinates ("asymmetric"); the rounding of Resize 10 depends on the scales.
#include <algorithm>

#include "compiler/import/onnx/upgrade_steps.h"

namespace tiffin::import {

using graph::kNone;
using graph::Tensor;

namespace {

Status set_modes(Draft* draft, const char* nearest_mode) {
  const std::string mode = draft->take<std::string>("mode").value_or("nearest");
  draft->attributes["mode"] = mode == "bilinear" ? "linear" : mode;
  draft->attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  draft->attributes["nearest_mode"] = std::string(nearest_mode);
  const graph::ValueId scales = draft->input(1);
  draft->inputs = {draft->input(0), kNone, scales};
  return {};
}

}  // namespace

Status upsample_to_resize(Draft* draft, Emitter* emitter) {
  if (draft->opset < 7) return decline(*draft, "height_scale and width_scale");
  if (draft->opset < 9) {
    const auto scales = draft->take<std::vector<double>>("scales");
    if (!scales) return error(Code::InvalidModel, "attribute 'scales' is missing, opset %lld requires it", static_cast<long long>(draft->opset));
    const std::vector<float> narrow(scales->begin(), scales->end());
    draft->set_input(1, emitter->constant(*draft, Tensor::from<float>(DType::Float32, {static_cast<int64_t>(narrow.size())}, narrow)));
  }
  return set_modes(draft, "floor");  // scales are 1 or more
}

// Resize 10 takes the lower neighbour when it enlarges and the upper one when it shrinks.
Status resize_without_modes(Draft* draft, Emitter* emitter) {
  if (draft->get<std::string>("mode", "nearest") != "nearest") return set_modes(draft, "floor");
  const Tensor* scales = emitter->tensor(draft->input(1));
  if (scales == nullptr) return decline(*draft, "scales that are computed, in opset 10");
  const std::vector<double> values = scales->to_doubles();
  if (std::all_of(values.begin(), values.end(), [](double scale) { return scale >= 1; })) return set_modes(draft, "floor");
  if (std::all_of(values.begin(), values.end(), [](double scale) { return scale <= 1; })) return set_modes(draft, "ceil");
  return decline(*draft, "scales that both enlarge and shrink, in opset 10");
}

// floor((x + 0.5) / scale) is what half_pixel gives with halves rounded up; other roundings have no newer spelling.
Status resize_pixel_for_nn(Draft* draft, Emitter*) {
  if (draft->get<std::string>("coordinate_transformation_mode", "") != "tf_half_pixel_for_nn") return {};
  if (draft->get<std::string>("nearest_mode", "") != "floor") return decline(*draft, "tf_half_pixel_for_nn and another rounding than floor");
  draft->attributes["coordinate_transformation_mode"] = std::string("half_pixel");
  draft->attributes["nearest_mode"] = std::string("round_prefer_ceil");
  return {};
}

// Exporters write an empty tensor where the newest form omits the input.
Status resize_empty_operands(Draft* draft, Emitter* emitter) {
  for (size_t i = 1; i < draft->inputs.size(); ++i) {
    const Tensor* operand = emitter->tensor(draft->input(i));
    if (operand != nullptr && operand->num_elements() == 0) draft->inputs[i] = kNone;
  }
  return {};
}

}  // namespace tiffin::import
