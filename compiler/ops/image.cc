// SPDX-License-Identifier: Apache-2.0
// Inference of resampling: Resize, GridSample, RoiAlign.
#include <algorithm>

#include "compiler/ops/families.h"
#include "compiler/ops/resize_rule.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Dim;
using graph::Shape;

Status expect_word(const Inference& inference, const char* key, const char* otherwise, std::initializer_list<std::string_view> words,
                   const char* rule) {
  const std::string actual = inference.node().string_attribute(key, otherwise);
  if (std::find(words.begin(), words.end(), actual) != words.end()) return {};
  std::string expected;
  for (const std::string_view word : words) expected += (expected.empty() ? "" : ", ") + std::string(word);
  return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute '%s' is '%s', expected one of %s (%s)", key, actual.c_str(),
                    expected.c_str(), rule);
}

bool is_open(const Inference& inference, size_t input) {
  if (!inference.has_input(input) || inference.constant(input) != nullptr) return false;
  return !(inference.type(input).has_static_shape() && inference.type(input).num_elements() == 0);
}

}  // namespace

Status infer_resize(Inference& inference) {
  TIFFIN_TRY(expect_word(inference, "mode", "nearest", {"nearest", "linear", "cubic"}, "resize.c8"));
  TIFFIN_TRY(expect_word(inference, "nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "resize.c9"));
  TIFFIN_TRY(expect_word(
      inference, "coordinate_transformation_mode", "half_pixel",
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"},
      "resize.c10"));
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(0), std::nullopt);
  const bool has_open_input = is_open(inference, 1) || is_open(inference, 2) || is_open(inference, 3);
  if (has_open_input || !inference.type(0).has_static_shape()) {
    return inference.set(0, inference.dtype(0), inference.fresh_shape(0, inference.rank(0)));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto axes, resize_of(inference.graph(), inference.node()));
  Shape shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].input == 0 && axes[i].output > 0) {
      return node_error(Code::InvalidModel, inference.graph(), inference.node(), "axis %zu of %s is empty and cannot be enlarged (resize.c11)", i,
                        graph::to_string(inference.type(0)).c_str());
    }
    shape.emplace_back(axes[i].output);
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

namespace {

// There is nothing to sample in an empty axis.
Status expect_pixels(const Inference& inference, const char* rule) {
  for (size_t axis = 2; inference.has_rank(0) && axis < inference.rank(0); ++axis) {
    if (!inference.dim(0, axis).is_static() || inference.dim(0, axis).value() > 0) continue;
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "axis %zu of %s is empty and cannot be sampled (%s)", axis,
                      graph::to_string(inference.type(0)).c_str(), rule);
  }
  return {};
}

}  // namespace

// x: [N, C, spatial...]; grid: [N, result..., spatial rank].
Status infer_grid_sample(Inference& inference) {
  TIFFIN_TRY(expect_word(inference, "mode", "linear", {"linear", "nearest", "cubic"}, "grid_sample.c1"));
  TIFFIN_TRY(expect_word(inference, "padding_mode", "zeros", {"zeros", "border", "reflection"}, "grid_sample.c2"));
  TIFFIN_TRY(expect_min_rank(inference, 0, 3, "grid_sample.c3"));
  TIFFIN_TRY(expect_pixels(inference, "grid_sample.c7"));
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(0), std::nullopt);
  if (!inference.has_rank(1)) return inference.set(0, inference.dtype(0), inference.fresh_shape(0, inference.rank(0)));
  TIFFIN_TRY(expect_rank(inference, 1, inference.rank(0), "grid_sample.c4"));
  TIFFIN_TRY(expect_dim(inference, 1, 0, inference.dim(0, 0), "grid_sample.c5"));
  TIFFIN_TRY(expect_dim(inference, 1, inference.rank(1) - 1, static_cast<int64_t>(inference.rank(0) - 2), "grid_sample.c6"));
  Shape shape = {inference.dim(0, 0), inference.dim(0, 1)};
  shape.insert(shape.end(), inference.shape(1).begin() + 1, inference.shape(1).end() - 1);
  return inference.set(0, inference.dtype(0), std::move(shape));
}

// x: [N, C, H, W]; rois: [regions, 4]; batch_indices: [regions]; result: [regions, C, output_height, output_width].
Status infer_roi_align(Inference& inference) {
  TIFFIN_TRY(expect_word(inference, "mode", "avg", {"avg", "max"}, "roi_align.c1"));
  TIFFIN_TRY(expect_word(inference, "coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"}, "roi_align.c2"));
  TIFFIN_TRY(expect_rank(inference, 0, 4, "roi_align.c3"));
  TIFFIN_TRY(expect_pixels(inference, "roi_align.c9"));
  TIFFIN_TRY(expect_rank(inference, 1, 2, "roi_align.c4"));
  TIFFIN_TRY(expect_rank(inference, 2, 1, "roi_align.c5"));
  const int64_t height = inference.node().int_attribute("output_height", 1);
  const int64_t width = inference.node().int_attribute("output_width", 1);
  if (height < 1 || width < 1 || inference.node().int_attribute("sampling_ratio", 0) < 0) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "'output_height', 'output_width' and 'sampling_ratio' are %lld, %lld and %lld, expected positive extents (roi_align.c6)",
                      static_cast<long long>(height), static_cast<long long>(width),
                      static_cast<long long>(inference.node().int_attribute("sampling_ratio", 0)));
  }
  Shape shape = inference.fresh_shape(0, 4);
  if (inference.has_rank(2)) shape[0] = inference.dim(2, 0);
  if (inference.has_rank(1)) {
    TIFFIN_TRY(expect_dim(inference, 1, 1, 4, "roi_align.c7"));
    if (inference.has_rank(2)) TIFFIN_TRY(expect_dim(inference, 1, 0, inference.dim(2, 0), "roi_align.c8"));
    if (!shape[0].is_static()) shape[0] = inference.dim(1, 0);
  }
  if (inference.has_rank(0)) shape[1] = inference.dim(0, 1);
  shape[2] = height;
  shape[3] = width;
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace tiffin::ops
