// SPDX-License-Identifier: Apache-2.0
// Inference of operators that make tensors from shapes and numbers.
#include <cmath>

#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {

using graph::Dim;
using graph::Shape;

namespace {

// No real model makes more axes than this; the limit keeps hostile ones from exhausting memory.
constexpr int64_t kMaxRank = 64;

// ceil((limit - start) / delta), at least 0; -1 when it is more than an int64 counts or no number.
int64_t count_range(const graph::Tensor& start, const graph::Tensor& limit, const graph::Tensor& delta) {
  if (is_standard_int(start.dtype())) {
    const __int128 first = start.to_int64s()[0];
    const __int128 span = limit.to_int64s()[0] - first;
    const __int128 step = delta.to_int64s()[0];
    if (step == 0) return -1;
    if ((span > 0) != (step > 0) || span == 0) return 0;
    const __int128 magnitude = step > 0 ? step : -step;
    const __int128 count = ((span > 0 ? span : -span) + magnitude - 1) / magnitude;
    return count > INT64_MAX ? -1 : static_cast<int64_t>(count);
  }
  const double span = limit.to_doubles()[0] - start.to_doubles()[0];
  const double count = std::ceil(span / delta.to_doubles()[0]);
  if (!(std::isfinite(count)) || count > 9e18) return -1;
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

}  // namespace

Status infer_constant_of_shape(Inference& inference) {
  const graph::Node& node = inference.node();
  DType dtype = DType::Float32;
  const auto value = node.attributes.find("value");
  if (value != node.attributes.end()) {
    const auto& tensor = std::get<graph::Tensor>(value->second);
    if (tensor.num_elements() != 1) {
      return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'value' is %s, expected one element (constant_of_shape.c1)",
                        graph::to_string(tensor.type()).c_str());
    }
    dtype = tensor.dtype();
  }
  TIFFIN_TRY(expect_rank(inference, 0, 1, "constant_of_shape.c2"));
  if (inference.constant(0) == nullptr) {
    const int64_t length = inference.has_rank(0) ? inference.dim(0, 0).value() : -1;
    if (length < 0 || length > kMaxRank) return inference.set(0, dtype, std::nullopt);
    return inference.set(0, dtype, inference.fresh_shape(0, static_cast<size_t>(length)));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto extents, constant_ints(inference.graph(), node, 0, "input"));
  Shape shape;
  for (const int64_t extent : extents) {
    if (extent < 0) {
      return node_error(Code::InvalidModel, inference.graph(), node, "input is %s, expected numbers of 0 or more (constant_of_shape.c3)",
                        graph::to_string(extents).c_str());
    }
    shape.emplace_back(extent);
  }
  return inference.set(0, dtype, std::move(shape));
}

Status infer_eye_like(Inference& inference) {
  TIFFIN_TRY(expect_rank(inference, 0, 2, "eye_like.c1"));
  DType dtype = inference.dtype(0);
  if (inference.node().has_attribute("dtype")) {
    TIFFIN_ASSIGN_OR_RETURN(dtype, dtype_of_code(inference.graph(), inference.node(), "dtype", inference.node().int_attribute("dtype", 0)));
  }
  return inference.set(0, dtype, inference.has_rank(0) ? inference.type(0).shape : std::optional(inference.fresh_shape(0, 2)));
}

// indices: any; depth: one number; values: [off, on]. The classes' axis is inserted at `axis` of the result.
Status infer_one_hot(Inference& inference) {
  const graph::Node& node = inference.node();
  TIFFIN_TRY(expect_rank(inference, 2, 1, "one_hot.c1"));
  if (inference.has_rank(2)) TIFFIN_TRY(expect_dim(inference, 2, 0, 2, "one_hot.c1"));
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(2), std::nullopt);
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis,
                          normalized_axis(inference.graph(), node, node.int_attribute("axis", -1), static_cast<int64_t>(inference.rank(0)) + 1));
  Dim depth = inference.fresh_dim(0, static_cast<size_t>(axis));
  if (const graph::Tensor* tensor = inference.constant(1); tensor != nullptr) {
    const double wanted = tensor->num_elements() == 1 ? tensor->to_doubles()[0] : -1;
    if (!(wanted >= 0 && wanted < 9e18)) {
      return node_error(Code::InvalidModel, inference.graph(), node, "input 'depth' is %s, expected one number of 0 or more (one_hot.c2)",
                        graph::to_string(tensor->type()).c_str());
    }
    depth = static_cast<int64_t>(wanted);
  }
  Shape shape = inference.shape(0);
  shape.insert(shape.begin() + axis, depth);
  return inference.set(0, inference.dtype(2), std::move(shape));
}

Status infer_range(Inference& inference) {
  for (size_t i = 0; i < 3; ++i) {
    if (!inference.has_rank(i) || inference.rank(i) == 0) continue;
    TIFFIN_TRY(expect_rank(inference, i, 1, "range.c1"));
    TIFFIN_TRY(expect_dim(inference, i, 0, 1, "range.c1"));
  }
  const graph::Tensor* start = inference.constant(0);
  const graph::Tensor* limit = inference.constant(1);
  const graph::Tensor* delta = inference.constant(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return inference.set(0, inference.dtype(0), inference.fresh_shape(0, 1));
  const int64_t count = count_range(*start, *limit, *delta);
  if (count < 0) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "a range from %g to %g by %g has no count (range.c2)",
                      start->to_doubles()[0], limit->to_doubles()[0], delta->to_doubles()[0]);
  }
  return inference.set(0, inference.dtype(0), Shape{Dim(count)});
}

}  // namespace tiffin::ops
