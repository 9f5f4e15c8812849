// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/upgrade.h"

#include <cstdint>

#include "compiler/import/onnx/upgrade_steps.h"

namespace tiffin::import {
namespace {

using graph::Op;

struct Successor {
  const char* op_type;
  Op op;
};

// Operators that another one replaces.
constexpr Successor kSuccessors[] = {{"CastLike", Op::Cast}, {"Scatter", Op::ScatterElements}, {"Upsample", Op::Resize}};

struct Row {
  const char* op_type;
  int64_t below;  // the step holds for opsets older than this
  Status (*step)(Draft*, Emitter*);
};

constexpr int64_t kAlways = INT64_MAX;

// In the order in which the steps run for one operator: oldest first.
constexpr Row kRows[] = {
    {"Add", 7, legacy_broadcast},
    {"And", 7, legacy_broadcast},
    {"BatchNormalization", 7, legacy_is_test},
    {"BatchNormalization", 14, batch_normalization_for_inference},
    {"CastLike", kAlways, cast_like},
    {"Clip", 11, clip_bounds_to_inputs},
    {"Div", 7, legacy_broadcast},
    {"Dropout", 7, legacy_is_test},
    {"Dropout", 12, dropout_ratio_to_input},
    {"Equal", 7, legacy_broadcast},
    {"GRU", 7, legacy_recurrent},
    {"Gemm", 7, legacy_broadcast},
    {"Greater", 7, legacy_broadcast},
    {"GridSample", 20, grid_sample_modes},
    {"GroupNormalization", 21, group_normalization_per_channel},
    {"Hardmax", 13, flatten_softmax},
    {"LSTM", 7, legacy_recurrent},
    {"Less", 7, legacy_broadcast},
    {"LogSoftmax", 13, flatten_softmax},
    {"Mul", 7, legacy_broadcast},
    {"Or", 7, legacy_broadcast},
    {"PRelu", 7, legacy_slope},
    {"Pad", 11, pad_to_inputs},
    {"Pow", 7, legacy_broadcast},
    {"RNN", 7, legacy_recurrent},
    {"ReduceL1", 18, axes_to_input},
    {"ReduceL2", 18, axes_to_input},
    {"ReduceLogSum", 18, axes_to_input},
    {"ReduceLogSumExp", 18, axes_to_input},
    {"ReduceMax", 18, axes_to_input},
    {"ReduceMean", 18, axes_to_input},
    {"ReduceMin", 18, axes_to_input},
    {"ReduceProd", 18, axes_to_input},
    {"ReduceSum", 13, axes_to_input},
    {"ReduceSumSquare", 18, axes_to_input},
    {"Resize", 11, resize_without_modes},
    {"Resize", 13, resize_pixel_for_nn},
    {"Resize", kAlways, resize_empty_operands},
    {"RoiAlign", 16, roi_align_output_pixel},
    {"Scan", 9, scan_with_lengths},
    {"Slice", 10, slice_to_inputs},
    {"Softmax", 13, flatten_softmax},
    {"Split", 13, split_to_input},
    {"Split", 18, split_equally},
    {"Squeeze", 13, axes_to_input},
    {"Sub", 7, legacy_broadcast},
    {"TopK", 10, topk_to_input},
    {"Unsqueeze", 13, axes_to_input},
    {"Upsample", kAlways, upsample_to_resize},
    {"Xor", 7, legacy_broadcast},
};

}  // namespace

bool find_op(const std::string& op_type, Op* out_op) {
  for (const Successor& row : kSuccessors) {
    if (op_type != row.op_type) continue;
    *out_op = row.op;
    return true;
  }
  return graph::parse_op(op_type, out_op) && *out_op < graph::kFirstInternalOp;
}

Status upgrade(Draft* draft, Emitter* emitter) {
  if (draft->opset < 7) TIFFIN_TRY(legacy_form(draft, emitter));
  for (const Row& row : kRows) {
    if (draft->op_type == row.op_type && draft->opset < row.below) TIFFIN_TRY(row.step(draft, emitter));
  }
  return {};
}

}  // namespace tiffin::import
