// SPDX-License-Identifier: Apache-2.0
// Inference of normalisations and softmax. All keep the shape of input 0.
#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

// Input `input` is a vector with one element for each channel (axis 1 of input 0).
Status expect_per_channel(const Inference& inference, size_t input, const char* rule) {
  if (!inference.has_input(input) || !inference.has_rank(input)) return {};
  TIFFIN_TRY(expect_rank(inference, input, 1, rule));
  if (!inference.has_rank(0)) return {};
  const graph::Dim channels = inference.rank(0) > 1 ? inference.dim(0, 1) : graph::Dim(1);
  return expect_dim(inference, input, 0, channels, rule);
}

// The statistics of LayerNormalization: the axes from `axis` on become 1.
std::optional<graph::Shape> kept_axes(const Inference& inference, int64_t axis) {
  graph::Shape shape = inference.shape(0);
  for (size_t i = static_cast<size_t>(axis); i < shape.size(); ++i) shape[i] = 1;
  return shape;
}

Status check_stash_type(const Inference& inference) {
  const int64_t stash = inference.node().int_attribute("stash_type", 1);
  if (stash == static_cast<int64_t>(DType::Float32) || stash == static_cast<int64_t>(DType::BFloat16) ||
      stash == static_cast<int64_t>(DType::Float16) || stash == static_cast<int64_t>(DType::Float64)) {
    return {};
  }
  return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                    "attribute 'stash_type' is %lld, expected the code of a floating-point type (normalization.c1)", static_cast<long long>(stash));
}

}  // namespace

Status infer_batch_normalization(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "batch_normalization.c1"));
  for (size_t i = 1; i < 5; ++i) TIFFIN_TRY(expect_per_channel(inference, i, "batch_normalization.c2"));
  const bool is_training = inference.node().int_attribute("training_mode", 0) != 0;
  if (!is_training && (inference.has_output(1) || inference.has_output(2))) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "running mean and variance are results in training mode only (batch_normalization.c3)");
  }
  TIFFIN_TRY(inference.set(1, inference.dtype(3), inference.type(3).shape));
  TIFFIN_TRY(inference.set(2, inference.dtype(4), inference.type(4).shape));
  return infer_same(inference);
}

Status infer_channel_normalization(Inference& inference) {
  const bool is_group = inference.node().op == graph::Op::GroupNormalization;
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "channel_normalization.c1"));
  TIFFIN_TRY(expect_per_channel(inference, 1, "channel_normalization.c2"));
  TIFFIN_TRY(expect_per_channel(inference, 2, "channel_normalization.c2"));
  if (is_group) TIFFIN_TRY(check_stash_type(inference));
  const int64_t groups = inference.node().int_attribute("num_groups", 1);
  const bool has_channels = inference.has_rank(0) && inference.dim(0, 1).is_static();
  if (is_group && (groups < 1 || (has_channels && inference.dim(0, 1).value() % groups != 0))) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attribute 'num_groups' is %lld, expected a divisor of the channels of %s (group_normalization.c1)",
                      static_cast<long long>(groups), graph::to_string(inference.type(0)).c_str());
  }
  return infer_same(inference);
}

Status infer_layer_normalization(Inference& inference) {
  TIFFIN_TRY(check_stash_type(inference));
  const auto stash = static_cast<DType>(inference.node().int_attribute("stash_type", 1));
  TIFFIN_TRY(infer_same(inference));
  if (!inference.has_rank(0)) {
    TIFFIN_TRY(inference.set(1, stash, std::nullopt));
    return inference.set(2, stash, std::nullopt);
  }
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", -1));
  const graph::Shape& data = inference.shape(0);
  TIFFIN_TRY(expect_broadcast_to(inference, 1, data, "layer_normalization.c1"));
  if (inference.has_input(2)) TIFFIN_TRY(expect_broadcast_to(inference, 2, data, "layer_normalization.c1"));
  TIFFIN_TRY(inference.set(1, stash, kept_axes(inference, axis)));
  return inference.set(2, stash, kept_axes(inference, axis));
}

Status infer_rms_normalization(Inference& inference) {
  TIFFIN_TRY(check_stash_type(inference));
  if (inference.has_rank(0)) {
    TIFFIN_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", -1));
    TIFFIN_TRY(expect_broadcast_to(inference, 1, inference.shape(0), "rms_normalization.c1"));
  }
  return inference.set(0, inference.dtype(1), inference.type(0).shape);
}

Status infer_axis_normalization(Inference& inference) {
  const bool is_lp = inference.node().op == graph::Op::LpNormalization;
  const int64_t p = inference.node().int_attribute("p", 2);
  if (is_lp && p != 1 && p != 2) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute 'p' is %lld, expected 1 or 2 (lp_normalization.c1)",
                      static_cast<long long>(p));
  }
  // A scalar is its own axis.
  if (inference.has_rank(0) && inference.rank(0) > 0) {
    TIFFIN_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", -1));
  }
  return infer_same(inference);
}

Status infer_lrn(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "lrn.c1"));
  const int64_t size = inference.node().int_attribute("size", 0);
  if (size < 1) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute 'size' is %lld, expected 1 or more (lrn.c2)",
                      static_cast<long long>(size));
  }
  return infer_same(inference);
}

Status infer_mean_variance_normalization(Inference& inference) {
  if (inference.has_rank(0)) {
    TIFFIN_ASSIGN_OR_RETURN([[maybe_unused]] const auto axes, reduction_axes(inference.graph(), inference.node()));
  }
  return infer_same(inference);
}

}  // namespace tiffin::ops
