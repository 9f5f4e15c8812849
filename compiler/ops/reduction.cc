// SPDX-License-Identifier: Apache-2.0
// Inference of reductions along axes and of the losses.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

Status set_reduced(Inference& inference, DType dtype) {
  const bool keeps = inference.node().int_attribute("keepdims", 1) != 0;
  if (!inference.has_rank(0)) return inference.set(0, dtype, std::nullopt);
  const bool has_open_axes = inference.has_input(1) && inference.constant(1) == nullptr;
  if (has_open_axes) return inference.set(0, dtype, keeps ? std::optional(inference.fresh_shape(0, inference.rank(0))) : std::nullopt);
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, reduction_axes(inference.graph(), inference.node()));
  graph::Shape shape;
  for (size_t axis = 0; axis < inference.rank(0); ++axis) {
    const bool is_reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(axis));
    if (!is_reduced) shape.push_back(inference.dim(0, axis));
    if (is_reduced && keeps) shape.emplace_back(1);
  }
  return inference.set(0, dtype, std::move(shape));
}

}  // namespace

Status infer_reduction(Inference& inference) { return set_reduced(inference, inference.dtype(0)); }

Status infer_arg_reduction(Inference& inference) {
  TIFFIN_TRY(set_reduced(inference, DType::Int64));
  if (!inference.has_rank(0) || inference.rank(0) == 0) return {};
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", 0));
  if (inference.dim(0, static_cast<size_t>(axis)) != graph::Dim(0)) return {};
  return node_error(Code::InvalidModel, inference.graph(), inference.node(), "axis %lld of %s has no element to choose (arg_reduction.c1)",
                    static_cast<long long>(axis), graph::to_string(inference.type(0)).c_str());
}

// scores: [N, C, d...]; labels: [N, d...]; weights: [C]. The loss is a scalar, or has the labels' shape when nothing is reduced.
Status infer_loss(Inference& inference) {
  const std::string mode = inference.node().string_attribute("reduction", "mean");
  if (mode != "none" && mode != "sum" && mode != "mean") {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute 'reduction' is '%s', expected none, sum or mean (loss.c1)",
                      mode.c_str());
  }
  TIFFIN_TRY(inference.set(1, inference.dtype(0), inference.type(0).shape));
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "loss.c2"));
  if (inference.has_rank(0) && inference.has_rank(1)) {
    TIFFIN_TRY(expect_rank(inference, 1, inference.rank(0) - 1, "loss.c3"));
    for (size_t axis = 0; axis < inference.rank(1); ++axis) {
      TIFFIN_TRY(expect_dim(inference, 1, axis, inference.dim(0, axis == 0 ? 0 : axis + 1), "loss.c3"));
    }
  }
  if (inference.has_input(2) && inference.has_rank(2)) {
    TIFFIN_TRY(expect_rank(inference, 2, 1, "loss.c4"));
    if (inference.has_rank(0)) TIFFIN_TRY(expect_dim(inference, 2, 0, inference.dim(0, 1), "loss.c4"));
  }
  return inference.set(0, inference.dtype(0), mode == "none" ? inference.type(1).shape : std::optional(graph::Shape{}));
}

}  // namespace tiffin::ops
