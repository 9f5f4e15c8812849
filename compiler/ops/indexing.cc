// SPDX-License-Identifier: Apache-2.0
// Inference of gathers, scatters and selections. Those whose result depends on values have fresh dimensions.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {

using graph::Dim;
using graph::Shape;

Status infer_gather(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "gather.c1"));
  if (!inference.has_rank(0) || !inference.has_rank(1)) return inference.set(0, inference.dtype(0), std::nullopt);
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", 0));
  const Shape& data = inference.shape(0);
  const Shape& indices = inference.shape(1);
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  return inference.set(0, inference.dtype(0), std::move(shape));
}

namespace {

// Extents of the indices are at most those of the data at all axes but `free_axis`.
Status expect_inside(const Inference& inference, size_t input, size_t free_axis, const char* rule) {
  for (size_t axis = 0; axis < inference.rank(0); ++axis) {
    const Dim& limit = inference.dim(0, axis);
    const Dim& actual = inference.dim(input, axis);
    if (axis == free_axis || !limit.is_static() || !actual.is_static() || actual.value() <= limit.value()) continue;
    return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "indices are %s, more than %s has at axis %zu (%s)",
                      graph::to_string(inference.type(input)).c_str(), graph::to_string(inference.type(0)).c_str(), axis, rule);
  }
  return {};
}

Status check_elements(const Inference& inference, const char* rule) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, rule));
  if (!inference.has_rank(0) || !inference.has_rank(1)) return {};
  TIFFIN_TRY(expect_rank(inference, 1, inference.rank(0), rule));
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", 0));
  return expect_inside(inference, 1, static_cast<size_t>(axis), rule);
}

Status check_reduction(const Inference& inference) {
  const std::string mode = inference.node().string_attribute("reduction", "none");
  if (mode == "none" || mode == "add" || mode == "mul" || mode == "min" || mode == "max") return {};
  return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                    "attribute 'reduction' is '%s', expected none, add, mul, min or max (scatter.c1)", mode.c_str());
}

// The last axis of the indices of GatherND and ScatterND: how many axes of the data they address; -1 when unknown.
Result<int64_t> index_length(const Inference& inference, int64_t batch_dims) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "index_nd.c1"));
  TIFFIN_TRY(expect_min_rank(inference, 1, 1, "index_nd.c1"));
  if (!inference.has_rank(0) || !inference.has_rank(1)) return int64_t{-1};
  const int64_t length = inference.shape(1).back().value();
  const auto rank = static_cast<int64_t>(inference.rank(0));
  if (batch_dims < 0 || batch_dims >= std::min(rank, static_cast<int64_t>(inference.rank(1)))) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attribute 'batch_dims' is %lld, expected less than the ranks of %s and %s (index_nd.c2)", static_cast<long long>(batch_dims),
                      graph::to_string(inference.type(0)).c_str(), graph::to_string(inference.type(1)).c_str());
  }
  if (length < 0 || (length >= 1 && length + batch_dims <= rank)) return length;
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(),
                    "indices are %s, whose last axis addresses %lld axes of %s (index_nd.c3)", graph::to_string(inference.type(1)).c_str(),
                    static_cast<long long>(length), graph::to_string(inference.type(0)).c_str());
}

}  // namespace

Status infer_gather_elements(Inference& inference) {
  TIFFIN_TRY(check_elements(inference, "gather_elements.c1"));
  return inference.set(0, inference.dtype(0), inference.type(1).shape);
}

Status infer_gather_nd(Inference& inference) {
  const int64_t batch_dims = inference.node().int_attribute("batch_dims", 0);
  TIFFIN_ASSIGN_OR_RETURN(const int64_t length, index_length(inference, batch_dims));
  if (length < 0) return inference.set(0, inference.dtype(0), std::nullopt);
  for (size_t axis = 0; axis < static_cast<size_t>(batch_dims); ++axis) {
    TIFFIN_TRY(expect_dim(inference, 1, axis, inference.dim(0, axis), "index_nd.c4"));
  }
  const Shape& data = inference.shape(0);
  const Shape& indices = inference.shape(1);
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch_dims + length, data.end());
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_scatter_elements(Inference& inference) {
  TIFFIN_TRY(check_reduction(inference));
  TIFFIN_TRY(check_elements(inference, "scatter_elements.c1"));
  if (inference.has_rank(1) && inference.has_rank(2)) {
    TIFFIN_TRY(expect_rank(inference, 2, inference.rank(1), "scatter_elements.c2"));
    for (size_t axis = 0; axis < inference.rank(1); ++axis) TIFFIN_TRY(expect_dim(inference, 2, axis, inference.dim(1, axis), "scatter_elements.c2"));
  }
  return infer_same(inference);
}

Status infer_scatter_nd(Inference& inference) {
  TIFFIN_TRY(check_reduction(inference));
  TIFFIN_ASSIGN_OR_RETURN(const int64_t length, index_length(inference, 0));
  if (length >= 0 && inference.has_rank(2)) {
    const Shape& data = inference.shape(0);
    const Shape& indices = inference.shape(1);
    Shape expected(indices.begin(), indices.end() - 1);
    expected.insert(expected.end(), data.begin() + length, data.end());
    TIFFIN_TRY(expect_rank(inference, 2, expected.size(), "scatter_nd.c1"));
    for (size_t axis = 0; axis < expected.size(); ++axis) TIFFIN_TRY(expect_dim(inference, 2, axis, expected[axis], "scatter_nd.c1"));
  }
  return infer_same(inference);
}

// boxes: [N, boxes, 4]; scores: [N, classes, boxes]; result: [selected, 3].
Status infer_non_max_suppression(Inference& inference) {
  TIFFIN_TRY(expect_rank(inference, 0, 3, "non_max_suppression.c1"));
  TIFFIN_TRY(expect_rank(inference, 1, 3, "non_max_suppression.c1"));
  if (inference.has_rank(0)) TIFFIN_TRY(expect_dim(inference, 0, 2, 4, "non_max_suppression.c2"));
  if (inference.has_rank(0) && inference.has_rank(1)) {
    TIFFIN_TRY(expect_dim(inference, 1, 0, inference.dim(0, 0), "non_max_suppression.c3"));
    TIFFIN_TRY(expect_dim(inference, 1, 2, inference.dim(0, 1), "non_max_suppression.c3"));
  }
  return inference.set(0, DType::Int64, Shape{inference.fresh_dim(0, 0), Dim(3)});
}

Status infer_non_zero(Inference& inference) {
  Shape shape = inference.fresh_shape(0, 2);
  if (inference.has_rank(0)) shape[0] = static_cast<int64_t>(inference.rank(0));
  return inference.set(0, DType::Int64, std::move(shape));
}

Status infer_top_k(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "top_k.c1"));
  if (!inference.has_rank(0)) {
    TIFFIN_TRY(inference.set(1, DType::Int64, std::nullopt));
    return inference.set(0, inference.dtype(0), std::nullopt);
  }
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), inference.node(), "axis", -1));
  const auto at = static_cast<size_t>(axis);
  const graph::Tensor* count = inference.constant(1);
  const int64_t extent = inference.dim(0, at).value();
  Shape shape = inference.shape(0);
  if (count == nullptr) {
    shape[at] = inference.fresh_dim(0, at);
  } else if (count->num_elements() != 1 || count->to_int64s()[0] < 0 || (extent >= 0 && count->to_int64s()[0] > extent)) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "input 'K' is %s, expected one number of at most %lld, axis %lld of %s (top_k.c2)",
                      graph::to_string(count->to_int64s()).c_str(), static_cast<long long>(extent), static_cast<long long>(axis),
                      graph::to_string(inference.type(0)).c_str());
  } else {
    shape[at] = count->to_int64s()[0];
  }
  TIFFIN_TRY(inference.set(1, DType::Int64, shape));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace tiffin::ops
