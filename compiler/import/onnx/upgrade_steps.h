// SPDX-License-Identifier: Apache-2.0
// The single steps of upgrade(), by family; upgrade.cc lists for which opsets each holds.
#pragma once

#include "base/status.h"
#include "compiler/import/onnx/emitter.h"

namespace tiffin::import {

// "OPERATOR with REASON", as UnsupportedOperator.
Status decline(const Draft& draft, const std::string& reason);
// A scalar of a floating type, rounded to it; empty for other types.
graph::Tensor float_scalar(DType dtype, double value);

// upgrade_operands.cc: attributes that became inputs
Status axes_to_input(Draft* draft, Emitter* emitter);
Status clip_bounds_to_inputs(Draft* draft, Emitter* emitter);
Status dropout_ratio_to_input(Draft* draft, Emitter* emitter);
Status pad_to_inputs(Draft* draft, Emitter* emitter);
Status slice_to_inputs(Draft* draft, Emitter* emitter);
Status split_to_input(Draft* draft, Emitter* emitter);
Status topk_to_input(Draft* draft, Emitter* emitter);
Status split_equally(Draft* draft, Emitter* emitter);

// upgrade_meaning.cc: the same words with another meaning
Status flatten_softmax(Draft* draft, Emitter* emitter);
Status batch_normalization_for_inference(Draft* draft, Emitter* emitter);
Status group_normalization_per_channel(Draft* draft, Emitter* emitter);
Status roi_align_output_pixel(Draft* draft, Emitter* emitter);
Status grid_sample_modes(Draft* draft, Emitter* emitter);
Status scan_with_lengths(Draft* draft, Emitter* emitter);
Status cast_like(Draft* draft, Emitter* emitter);

// upgrade_resize.cc
Status upsample_to_resize(Draft* draft, Emitter* emitter);
Status resize_without_modes(Draft* draft, Emitter* emitter);
Status resize_pixel_for_nn(Draft* draft, Emitter* emitter);
Status resize_empty_operands(Draft* draft, Emitter* emitter);

// upgrade_legacy.cc: opsets below 7
Status legacy_form(Draft* draft, Emitter* emitter);
Status legacy_broadcast(Draft* draft, Emitter* emitter);
Status legacy_slope(Draft* draft, Emitter* emitter);
Status legacy_is_test(Draft* draft, Emitter* emitter);
Status legacy_recurrent(Draft* draft, Emitter* emitter);

}  // namespace tiffin::import
