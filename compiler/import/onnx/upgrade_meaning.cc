// SPDX-License-Identifier: Apache-2.0
// Operators whose words keep their spelling and change their meaning from one opset to another.
#include "compiler/import/onnx/upgrade_steps.h"

namespace tiffin::import {

using graph::Op;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// Before opset 13 the input counts as a matrix: the axes before `axis` are rows, all others together are normalised.
Status flatten_softmax(Draft* draft, Emitter* emitter) {
  const int64_t axis = draft->take<int64_t>("axis").value_or(1);
  const ValueId data = draft->input(0);
  const auto rank = emitter->rank(data);
  if (axis == -1 || (rank && axis == *rank - 1)) {
    draft->attributes["axis"] = int64_t{-1};
    return {};
  }
  if (rank && (axis < -*rank || axis > *rank)) {
    return error(Code::InvalidModel, "attribute 'axis' is %lld, the input has rank %lld", static_cast<long long>(axis),
                 static_cast<long long>(*rank));
  }
  const ValueId matrix = emitter->emit(*draft, Op::Flatten, {data}, {{"axis", axis}});
  const ValueId rows = emitter->emit(*draft, draft->op, {matrix}, {{"axis", int64_t{-1}}});
  const ValueId shape = emitter->emit(*draft, Op::Shape, {data});
  draft->op = Op::Reshape;
  draft->inputs = {rows, shape};
  draft->attributes = {{"allowzero", int64_t{1}}};  // an extent of 0 is meant, not "copy"
  return {};
}

Status batch_normalization_for_inference(Draft* draft, Emitter*) {
  if (draft->take<int64_t>("spatial").value_or(1) == 0) return decline(*draft, "spatial=0");
  for (size_t i = 1; i < draft->outputs.size(); ++i) {
    if (draft->has_output(i)) return decline(*draft, "the outputs of training");
  }
  return {};
}

// Opset 18 has scale and bias per group, [G]; the newest form per channel, [C]: each is repeated C / G times.
Status group_normalization_per_channel(Draft* draft, Emitter* emitter) {
  const int64_t groups = draft->get<int64_t>("num_groups", 0);
  if (groups <= 0) return error(Code::InvalidModel, "attribute 'num_groups' is missing or not above 0");
  const ValueId group_count = emitter->constant(*draft, Ints{groups});
  const ValueId channels = emitter->emit(*draft, Op::Shape, {draft->input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const ValueId repeats = emitter->emit(*draft, Op::Div, {channels, group_count});
  const ValueId expanded_shape = emitter->emit(*draft, Op::Concat, {group_count, repeats}, {{"axis", int64_t{0}}});
  const ValueId one = emitter->constant(*draft, Ints{1});
  const ValueId flat = emitter->constant(*draft, Ints{-1});
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ValueId column = emitter->emit(*draft, Op::Unsqueeze, {draft->input(i), one});
    const ValueId expanded = emitter->emit(*draft, Op::Expand, {column, expanded_shape});
    draft->set_input(i, emitter->emit(*draft, Op::Reshape, {expanded, flat}));
  }
  return {};
}

Status roi_align_output_pixel(Draft* draft, Emitter*) {
  draft->attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
  return {};
}

Status grid_sample_modes(Draft* draft, Emitter*) {
  const std::string mode = draft->take<std::string>("mode").value_or("bilinear");
  draft->attributes["mode"] = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  return {};
}

Status scan_with_lengths(Draft* draft, Emitter*) { return decline(*draft, "the batch axis and lengths of opset 8"); }

Status cast_like(Draft* draft, Emitter* emitter) {
  const DType to = emitter->dtype(draft->input(1));
  if (to == DType::Undefined) return decline(*draft, "a target whose element type is not known before inference");
  draft->attributes["to"] = static_cast<int64_t>(to);
  draft->inputs.resize(1);
  return {};
}

}  // namespace tiffin::import
