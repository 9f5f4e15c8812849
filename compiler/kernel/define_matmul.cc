// SPDX-License-Identifier: Apache-2.0
// Elements of the matrix products: one loop over K for all points, whose loads of rows and columns are shared.
#include <algorithm>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;
using graph::ValueId;

namespace {

// A product of matrices as an element needs it. Batch axes of an operand broadcast from the right.
struct Product {
  ValueId a = graph::kNone, b = graph::kNone, bias = graph::kNone;
  ValueId a_zero = graph::kNone, b_zero = graph::kNone;  // MatMulInteger
  std::vector<int64_t> a_shape, b_shape;
  bool b_is_transposed = false;  // [N, K]
  int64_t depth = 0;
  DType dtype = DType::Undefined;  // accumulators
};

struct Place {
  Index batch;
  Expr row = nullptr, column = nullptr;  // null where the operand is a vector
};

Place place_of(const Product& product, const Index& point) {
  Place place;
  Index rest = point;
  if (product.b_shape.size() > 1) {
    place.column = rest.back();
    rest.pop_back();
  }
  if (product.a_shape.size() > 1) {
    place.row = rest.back();
    rest.pop_back();
  }
  place.batch = rest;
  return place;
}

// The operand's batch indices, aligned from the right.
Index batch_of(Lowering& l, const Index& batch, const std::vector<int64_t>& shape) {
  const size_t count = shape.size() > 2 ? shape.size() - 2 : 0;
  Index own(batch.end() - static_cast<std::ptrdiff_t>(count), batch.end());
  for (size_t i = 0; i < count; ++i) {
    if (shape[i] == 1) own[i] = l.b().i64(0);
  }
  return own;
}

Index a_index(Lowering& l, const Product& product, const Place& place, Expr k) {
  Index index = batch_of(l, place.batch, product.a_shape);
  if (place.row != nullptr) index.push_back(place.row);
  index.push_back(k);
  return index;
}

Index b_index(Lowering& l, const Product& product, const Place& place, Expr k) {
  Index index = batch_of(l, place.batch, product.b_shape);
  if (place.column == nullptr) {
    index.push_back(k);
  } else {
    index.push_back(product.b_is_transposed ? place.column : k);
    index.push_back(product.b_is_transposed ? k : place.column);
  }
  return index;
}

// The zero point of a row of A or a column of B: a scalar, [M] or [N], or with batch axes and an extent of 1 along K.
Expr zero_point(Lowering& l, ValueId zero, bool is_of_rows, const Place& place) {
  const std::vector<int64_t> shape = l.shape(zero);
  Index index(shape.size(), l.b().i64(0));
  Expr along = is_of_rows ? place.row : place.column;
  if (shape.size() == 1 && shape[0] != 1) index[0] = along;
  if (shape.size() >= 2) {
    const Index batch = batch_of(l, place.batch, shape);
    std::copy(batch.begin(), batch.end(), index.begin());
    const size_t axis = is_of_rows ? shape.size() - 2 : shape.size() - 1;
    if (shape[axis] != 1) index[axis] = along;
  }
  return l.b().cast(l.value(zero, index), DType::Int32);
}

bool is_contiguous(Lowering& l, const Product& product) {
  const int64_t a_axis = static_cast<int64_t>(product.a_shape.size()) - 1;
  const int64_t b_rank = static_cast<int64_t>(product.b_shape.size());
  const int64_t b_axis = b_rank == 1 || product.b_is_transposed ? b_rank - 1 : b_rank - 2;
  return l.is_contiguous_along(product.a, {a_axis}) && l.is_contiguous_along(product.b, {b_axis});
}

Values product_elements(Lowering& l, const Product& product, Points points) {
  Builder& b = l.b();
  std::vector<Place> places;
  for (const Index& point : points) places.push_back(place_of(product, point));
  for (const Place& place : places) {
    if (place.row != nullptr) l.note_tile(place.row);
    // A vector of B's columns against a single row has its batches beside each other instead.
    if (place.row == nullptr && !place.batch.empty()) l.note_tile(place.batch.back());
  }
  const bool contiguous = is_contiguous(l, product);
  l.note_reduction(product.depth, contiguous);
  Values a_zeros, b_zeros;
  for (const Place& place : places) {
    a_zeros.push_back(product.a_zero == graph::kNone ? nullptr : b.let("zero", zero_point(l, product.a_zero, true, place)));
    b_zeros.push_back(product.b_zero == graph::kNone ? nullptr : b.let("zero", zero_point(l, product.b_zero, false, place)));
  }
  const bool is_float = is_standard_float(product.dtype);
  const auto factor = [&](Expr value, Expr zero) {
    Expr wide = b.cast(value, product.dtype);
    return zero == nullptr ? wide : b.sub(wide, zero);
  };
  const auto step = [&](Expr k, const Values& sums) {
    std::vector<Index> a_points, b_points;
    for (const Place& place : places) {
      a_points.push_back(a_index(l, product, place, k));
      b_points.push_back(b_index(l, product, place, k));
    }
    const Values left = l.values(product.a, a_points), right = l.values(product.b, b_points);
    Values next;
    for (size_t i = 0; i < places.size(); ++i) {
      Expr x = factor(left[i], a_zeros[i]), y = factor(right[i], b_zeros[i]);
      next.push_back(is_float ? b.fma(x, y, sums[i]) : b.add(b.mul(x, y), sums[i]));
    }
    return next;
  };
  const std::vector<Monoid> sums(points.size(), {b.zero({product.dtype, 1}), BinaryOp::Add});
  return fold_range(l, product.depth, sums, lanes_of(points), contiguous && l.may_use_lanes(points), step);
}

}  // namespace

Result<ElementFn> define_matmul(Lowering& lowering, const Node& node) {
  Product product;
  product.a = node.inputs[0];
  product.b = node.inputs[1];
  product.a_shape = lowering.shape(product.a);
  product.b_shape = lowering.shape(product.b);
  product.depth = product.a_shape.back();
  if (node.op == Op::MatMulInteger) {
    product.a_zero = node.input(2);
    product.b_zero = node.input(3);
  }
  product.dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  return ElementFn([product](Lowering& l, size_t, Points points) { return product_elements(l, product, points); });
}

Result<ElementFn> define_gemm(Lowering& lowering, const Node& node) {
  const bool is_plain = node.float_attribute("alpha", 1) == 1 && node.float_attribute("beta", 1) == 1 && node.int_attribute("transA", 0) == 0;
  if (!is_plain) {
    return ops::node_error(Code::UnsupportedOperator, lowering.graph(), node, "alpha, beta or transA are set, expected the decomposed form");
  }
  Product product;
  product.a = node.inputs[0];
  product.b = node.inputs[1];
  product.bias = node.input(2);
  product.a_shape = lowering.shape(product.a);
  product.b_shape = lowering.shape(product.b);
  product.b_is_transposed = node.int_attribute("transB", 0) != 0;
  product.depth = product.a_shape.back();
  product.dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  return ElementFn([product](Lowering& l, size_t, Points points) {
    Values elements = product_elements(l, product, points);
    if (product.bias == graph::kNone) return elements;
    const Values bias = l.broadcast_values(product.bias, points);
    for (size_t i = 0; i < points.size(); ++i) elements[i] = l.b().add(elements[i], bias[i]);
    return elements;
  });
}

}  // namespace tiffin::kernel
