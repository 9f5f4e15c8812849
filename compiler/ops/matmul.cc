// SPDX-License-Identifier: Apache-2.0
// Inference of matrix products. MatMul: [..., M, K] x [..., K, N] -> [..., M, N]; the panels of a packed B are [ceil(N / 16), K, 16].
#include <algorithm>

#include "compiler/ops/einsum_rule.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Dim;
using graph::Op;
using graph::Shape;

struct Operands {
  size_t b = 1;
  DType result = DType::Undefined;
};

Operands operands_of(const Inference& inference) {
  switch (inference.node().op) {
    case Op::MatMulInteger:
      return {1, DType::Int32};
    case Op::QLinearMatMul:
      return {3, inference.dtype(7)};
    default:
      return {1, inference.dtype(0)};
  }
}

// numpy's matmul: a vector is a row at the left and a column at the right, and its axis leaves the result.
Status matmul_shape(const Inference& inference, size_t b, std::optional<Shape>* out) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "matmul.c1"));
  TIFFIN_TRY(expect_min_rank(inference, b, 1, "matmul.c1"));
  if (!inference.has_rank(0) || !inference.has_rank(b)) return {};
  Shape left = inference.shape(0);
  Shape right = inference.shape(b);
  const bool is_row = left.size() == 1;
  const bool is_column = right.size() == 1;
  if (is_row) left.insert(left.begin(), Dim(1));
  if (is_column) right.emplace_back(1);
  if (!may_equal(left.back(), right[right.size() - 2])) {
    return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "%s by %s: the inner extents %lld and %lld differ (matmul.c2)",
                      graph::to_string(inference.type(0)).c_str(), graph::to_string(inference.type(b)).c_str(),
                      static_cast<long long>(left.back().value()), static_cast<long long>(right[right.size() - 2].value()));
  }
  const Dim rows = left[left.size() - 2];
  const Dim columns = right.back();
  left.resize(left.size() - 2, Dim(1));
  right.resize(right.size() - 2, Dim(1));
  TIFFIN_ASSIGN_OR_RETURN(Shape shape, broadcast(inference, left, right));
  if (!is_row) shape.push_back(rows);
  if (!is_column) shape.push_back(columns);
  *out = std::move(shape);
  return {};
}

// A zero point or scale of an integer product: a scalar, or one for each row of A or column of B.
Status expect_scalar_or_vector(const Inference& inference, size_t input, size_t matrix, bool is_row) {
  if (!inference.has_input(input) || !inference.has_rank(input) || inference.rank(input) == 0 || !inference.has_rank(matrix)) return {};
  const Shape& shape = inference.shape(matrix);
  const Dim expected = is_row ? shape[shape.size() < 2 ? 0 : shape.size() - 2] : shape.back();
  const Shape& actual = inference.shape(input);
  const bool is_one = std::all_of(actual.begin(), actual.end(), [](const Dim& dim) { return !dim.is_static() || dim.value() == 1; });
  if (is_one) return {};
  // Batched forms carry the rows or columns beside axes of extent 1: [..., M, 1] or [..., 1, N].
  const bool has_vector = actual.size() == 1 ? may_equal(actual[0], expected)
                                             : actual.size() == shape.size() && may_equal(actual[actual.size() - (is_row ? 2 : 1)], expected) &&
                                                   may_equal(actual[actual.size() - (is_row ? 1 : 2)], 1);
  if (has_vector) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(),
                    "input %zu is %s, expected a scalar or one element for each %s of %s (matmul.c3)", input,
                    graph::to_string(inference.type(input)).c_str(), is_row ? "row" : "column", graph::to_string(inference.type(matrix)).c_str());
}

Status check_quantization(const Inference& inference) {
  if (inference.node().op == Op::MatMulInteger) {
    TIFFIN_TRY(expect_scalar_or_vector(inference, 2, 0, true));
    return expect_scalar_or_vector(inference, 3, 1, false);
  }
  if (inference.node().op != Op::QLinearMatMul) return {};
  for (const size_t input : {size_t{1}, size_t{2}}) TIFFIN_TRY(expect_scalar_or_vector(inference, input, 0, true));
  for (const size_t input : {size_t{4}, size_t{5}}) TIFFIN_TRY(expect_scalar_or_vector(inference, input, 3, false));
  return {};
}

}  // namespace

Status infer_matmul(Inference& inference) {
  const Operands operands = operands_of(inference);
  std::optional<Shape> shape;
  TIFFIN_TRY(matmul_shape(inference, operands.b, &shape));
  TIFFIN_TRY(check_quantization(inference));
  return inference.set(0, operands.result, std::move(shape));
}

Status infer_gemm(Inference& inference) {
  TIFFIN_TRY(expect_rank(inference, 0, 2, "gemm.c1"));
  TIFFIN_TRY(expect_rank(inference, 1, 2, "gemm.c1"));
  const bool is_a_transposed = inference.node().int_attribute("transA", 0) != 0;
  const bool is_b_transposed = inference.node().int_attribute("transB", 0) != 0;
  Shape shape = inference.fresh_shape(0, 2);
  if (inference.has_rank(0)) shape[0] = inference.dim(0, is_a_transposed ? 1 : 0);
  if (inference.has_rank(1)) shape[1] = inference.dim(1, is_b_transposed ? 0 : 1);
  if (inference.has_rank(0) && inference.has_rank(1) &&
      !may_equal(inference.dim(0, is_a_transposed ? 0 : 1), inference.dim(1, is_b_transposed ? 1 : 0))) {
    return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "%s%s by %s%s: the inner extents differ (gemm.c2)",
                      graph::to_string(inference.type(0)).c_str(), is_a_transposed ? " transposed" : "", graph::to_string(inference.type(1)).c_str(),
                      is_b_transposed ? " transposed" : "");
  }
  if (inference.has_input(2)) TIFFIN_TRY(expect_broadcast_to(inference, 2, shape, "gemm.c3"));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_einsum(Inference& inference) {
  for (size_t i = 0; i < inference.node().inputs.size(); ++i) {
    if (!inference.has_rank(i)) return inference.set(0, inference.dtype(0), std::nullopt);
  }
  TIFFIN_ASSIGN_OR_RETURN(const Einsum einsum, einsum_of(inference.graph(), inference.node()));
  Shape shape;
  for (int label = 0; label < einsum.result_rank; ++label) {
    shape.push_back(inference.dim_or_fresh(einsum.extents[static_cast<size_t>(label)], 0, static_cast<size_t>(label)));
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

// w: [rows..., columns]; panels: [ceil(columns / 16), rows..., 16].
Status infer_pack_panels(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "pack_panels.c1"));
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(0), std::nullopt);
  Shape rows = inference.shape(0);
  const Dim columns = rows.back();
  rows.pop_back();
  Shape shape = {columns.is_static() ? Dim(panel_count(columns.value())) : inference.fresh_dim(0, 0)};
  shape.insert(shape.end(), rows.begin(), rows.end());
  shape.emplace_back(kPanelColumns);
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_packed_matmul(Inference& inference) {
  const int64_t columns = inference.node().int_attribute("n", -1);
  TIFFIN_TRY(expect_rank(inference, 1, 3, "packed_matmul.c1"));
  TIFFIN_TRY(expect_min_rank(inference, 0, 1, "packed_matmul.c2"));
  if (columns < 0) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "attribute 'n' is %lld, expected 0 or more (packed_matmul.c3)",
                      static_cast<long long>(columns));
  }
  if (inference.has_rank(1)) {
    TIFFIN_TRY(expect_dim(inference, 1, 0, panel_count(columns), "packed_matmul.c4"));
    TIFFIN_TRY(expect_dim(inference, 1, 2, kPanelColumns, "packed_matmul.c4"));
  }
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(0), std::nullopt);
  if (inference.has_rank(1)) TIFFIN_TRY(expect_dim(inference, 1, 1, inference.shape(0).back(), "packed_matmul.c5"));
  Shape shape = inference.shape(0);
  shape.back() = columns;
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace tiffin::ops
