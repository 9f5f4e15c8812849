// SPDX-License-Identifier: Apache-2.0
// Inference of operators that work element by element, broadcast or not, and of running sums.
#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

// An optional input of one element, such as a bound of Clip.
Status expect_scalar(const Inference& inference, size_t input, const char* rule) {
  if (!inference.has_input(input) || !inference.has_rank(input)) return {};
  if (inference.rank(input) == 0) return {};
  if (inference.rank(input) == 1 && may_equal(inference.dim(input, 0), 1)) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input %zu is %s, expected a scalar (%s)", input,
                    graph::to_string(inference.type(input)).c_str(), rule);
}

}  // namespace

Status infer_same(Inference& inference) { return inference.set(0, inference.dtype(0), inference.type(0).shape); }

Status infer_broadcast(Inference& inference) {
  std::optional<graph::Shape> shape;
  TIFFIN_TRY(broadcast_inputs(inference, 0, inference.node().inputs.size(), &shape));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_comparison(Inference& inference) {
  std::optional<graph::Shape> shape;
  TIFFIN_TRY(broadcast_inputs(inference, 0, 2, &shape));
  return inference.set(0, DType::Bool, std::move(shape));
}

Status infer_predicate(Inference& inference) { return inference.set(0, DType::Bool, inference.type(0).shape); }

Status infer_bit_shift(Inference& inference) {
  const std::string direction = inference.node().string_attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute 'direction' is '%s', expected LEFT or RIGHT (bit_shift.c1)",
                      direction.c_str());
  }
  return infer_broadcast(inference);
}

Status infer_cast(Inference& inference) {
  const int64_t code = inference.node().int_attribute("to", 0);
  TIFFIN_ASSIGN_OR_RETURN(const DType to, dtype_of_code(inference.graph(), inference.node(), "to", code));
  return inference.set(0, to, inference.type(0).shape);
}

Status infer_clip(Inference& inference) {
  TIFFIN_TRY(expect_scalar(inference, 1, "clip.c1"));
  TIFFIN_TRY(expect_scalar(inference, 2, "clip.c1"));
  return infer_same(inference);
}

Status infer_cumulative(Inference& inference) {
  TIFFIN_TRY(expect_scalar(inference, 1, "cumulative.c1"));
  const graph::Tensor* axis = inference.constant(1);
  if (axis != nullptr && axis->num_elements() == 1 && inference.has_rank(0)) {
    const auto rank = static_cast<int64_t>(inference.rank(0));
    TIFFIN_TRY([&]() -> Status {
      TIFFIN_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t normalized,
                              normalized_axis(inference.graph(), inference.node(), axis->to_int64s()[0], rank));
      return {};
    }());
  }
  return infer_same(inference);
}

Status infer_dropout(Inference& inference) {
  TIFFIN_TRY(expect_scalar(inference, 1, "dropout.c1"));
  TIFFIN_TRY(expect_scalar(inference, 2, "dropout.c1"));
  TIFFIN_TRY(infer_same(inference));
  return inference.set(1, DType::Bool, inference.type(0).shape);
}

Status infer_prelu(Inference& inference) {
  if (inference.has_rank(0)) TIFFIN_TRY(expect_broadcast_to(inference, 1, inference.shape(0), "prelu.c1"));
  return infer_same(inference);
}

Status infer_swiglu(Inference& inference) {
  if (inference.has_rank(0) && inference.has_rank(1)) {
    TIFFIN_TRY(expect_rank(inference, 1, inference.rank(0), "swiglu.c1"));
    for (size_t axis = 0; axis < inference.rank(0); ++axis) TIFFIN_TRY(expect_dim(inference, 1, axis, inference.dim(0, axis), "swiglu.c1"));
  }
  return infer_same(inference);
}

Status infer_where(Inference& inference) {
  std::optional<graph::Shape> shape;
  TIFFIN_TRY(broadcast_inputs(inference, 0, 3, &shape));
  return inference.set(0, inference.dtype(1), std::move(shape));
}

}  // namespace tiffin::ops
