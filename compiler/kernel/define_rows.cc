// SPDX-License-Identifier: Apache-2.0
// Elements of the operators that look at a whole row first: Softmax, LogSoftmax and the normalisations. What belongs to a row (maximum, sum, mean)
// is computed where the row's indices are known, outside the loop along the row.
#include <algorithm>
#include <limits>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/math.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;
using graph::ValueId;

namespace {

// A family of rows: the indices along `axes` run through one.
struct Rows {
  ValueId operand = graph::kNone;
  std::vector<int64_t> shape, axes, extents;
  int64_t length = 1;
  int64_t cache_key = 0;  // of what is known of a row
  DType dtype = DType::Undefined;
};

Index with_place(const Rows& rows, Index row, const Index& along) {
  for (size_t i = 0; i < rows.axes.size(); ++i) row[static_cast<size_t>(rows.axes[i])] = along[i];
  return row;
}

// The point with zeros along the row: the same for all elements of a row.
Index row_of(Lowering& l, const Rows& rows, const Index& point) { return with_place(rows, point, Index(rows.axes.size(), l.b().i64(0))); }

bool folds_with_lanes(Lowering& l, const Rows& rows, const Index& row) {
  return l.is_contiguous_along(rows.operand, rows.axes) && l.may_use_lanes({&row, 1});
}

using Facts = std::vector<Expr>;

// What `compute` finds out about the row of `point`, once per row.
Facts facts_of(Lowering& l, const Rows& rows, const Index& point, size_t count, const std::function<Facts(const Index& row)>& compute) {
  Builder& b = l.b();
  const Index row = row_of(l, rows, point);
  for (int64_t axis : rows.axes) l.note_row(point[static_cast<size_t>(axis)]);
  const auto key = [&](size_t i) {
    Builder::CacheKey fact_key{rows.cache_key + static_cast<int64_t>(i), row};
    fact_key.second.push_back(l.active);
    return fact_key;
  };
  Facts facts;
  for (size_t i = 0; i < count; ++i) facts.push_back(b.find_cached(key(i)));
  if (std::find(facts.begin(), facts.end(), nullptr) == facts.end()) return facts;
  l.at_home(row, [&] { facts = compute(row); });
  for (size_t i = 0; i < count; ++i) b.remember(key(i), facts[i]);
  return facts;
}

// Sum (or maximum) over the row of `term` of the operand's elements, in `count` sums.
Values fold_row(Lowering& l, const Rows& rows, const Index& row, const std::vector<Monoid>& monoids,
                const std::function<Values(Expr value, const Values& sums)>& step) {
  return fold_range(l, rows.length, monoids, lanes_of({&row, 1}), folds_with_lanes(l, rows, row), [&](Expr r, const Values& sums) {
    return step(l.value(rows.operand, with_place(rows, row, l.unflatten(r, rows.extents))), sums);
  });
}

// ---- Softmax ----

struct Softmax {
  Rows rows;
  bool is_log = false;
};

// Maximum and sum of exp(x - maximum).
Facts softmax_facts(Lowering& l, const Softmax& softmax, const Index& row) {
  Builder& b = l.b();
  const Type type{softmax.rows.dtype, 1};
  const Monoid highest{b.real(type, -std::numeric_limits<double>::infinity()), BinaryOp::Max}, total{b.zero(type), BinaryOp::Add};
  Expr maximum = fold_row(l, softmax.rows, row, {highest}, [&](Expr x, const Values& best) { return Values{b.max(best[0], x)}; })[0];
  Expr sum = fold_row(l, softmax.rows, row, {total}, [&](Expr x, const Values& sums) {
    Expr shifted = b.let("shifted", b.sub(x, maximum));
    return Values{b.add(sums[0], math::exp(b, shifted))};
  })[0];
  if (!softmax.is_log) return {maximum, b.let("scale", b.div(b.real(type, 1), sum))};
  return {maximum, b.let("log", math::log(b, sum))};
}

Expr softmax_element(Lowering& l, const Softmax& softmax, const Index& point) {
  Builder& b = l.b();
  const Facts facts = facts_of(l, softmax.rows, point, 2, [&](const Index& row) { return softmax_facts(l, softmax, row); });
  Expr shifted = b.let("shifted", b.sub(l.value(softmax.rows.operand, point), facts[0]));
  return softmax.is_log ? b.sub(shifted, facts[1]) : b.mul(math::exp(b, shifted), facts[1]);
}

// ---- normalisations ----

struct Normalization {
  Rows rows;
  ValueId scale = graph::kNone, bias = graph::kNone;
  double epsilon = 0;
  bool is_centred = true;
};

// Mean and 1 / sqrt(variance + epsilon); the variance from the distances to the mean, in a second pass.
Facts normalization_facts(Lowering& l, const Normalization& norm, const Index& row) {
  Builder& b = l.b();
  const Type type{norm.rows.dtype, 1};
  const Monoid total{b.zero(type), BinaryOp::Add};
  Expr count = b.real(type, static_cast<double>(norm.rows.length));
  Expr mean = b.zero(type);
  if (norm.is_centred) {
    Expr sum = fold_row(l, norm.rows, row, {total}, [&](Expr x, const Values& sums) { return Values{b.add(sums[0], x)}; })[0];
    mean = b.let("mean", b.div(sum, count));
  }
  Expr squares = fold_row(l, norm.rows, row, {total}, [&](Expr x, const Values& sums) {
    Expr distance = norm.is_centred ? b.let("distance", b.sub(x, mean)) : x;
    return Values{b.fma(distance, distance, sums[0])};
  })[0];
  Expr variance = b.add(b.div(squares, count), b.real(type, norm.epsilon));
  return {mean, b.let("inverse", b.div(b.real(type, 1), b.sqrt(variance)))};
}

Expr normalization_element(Lowering& l, const Normalization& norm, size_t output, const Index& point) {
  Builder& b = l.b();
  const Facts facts = facts_of(l, norm.rows, point, 2, [&](const Index& row) { return normalization_facts(l, norm, row); });
  if (output > 0) return facts[output - 1];
  Expr x = l.value(norm.rows.operand, point);
  Expr element = b.mul(norm.is_centred ? b.sub(x, facts[0]) : x, facts[1]);
  if (norm.scale != graph::kNone) element = b.mul(element, l.broadcast_value(norm.scale, point));
  if (norm.bias != graph::kNone) element = b.add(element, l.broadcast_value(norm.bias, point));
  return element;
}

// A key range of its own, two numbers per value, beside those of the values themselves.
constexpr int64_t kFactKeys = int64_t{1} << 40;

Rows rows_of(Lowering& lowering, const Node& node, std::vector<int64_t> axes) {
  Rows rows;
  rows.operand = node.inputs[0];
  rows.shape = lowering.shape(rows.operand);
  rows.axes = std::move(axes);
  for (int64_t axis : rows.axes) rows.extents.push_back(rows.shape[static_cast<size_t>(axis)]);
  rows.length = graph::num_elements(rows.extents);
  rows.cache_key = kFactKeys + int64_t{2} * node.outputs[0];
  rows.dtype = compute_dtype(lowering.dtype(rows.operand));
  return rows;
}

}  // namespace

Result<ElementFn> define_softmax(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(lowering.graph(), node, "axis", -1));
  const Softmax softmax{rows_of(lowering, node, {axis}), node.op == Op::LogSoftmax};
  return ElementFn([softmax](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(softmax_element(l, softmax, point));
    return elements;
  });
}

Result<ElementFn> define_normalization(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t first, ops::axis_attribute(lowering.graph(), node, "axis", -1));
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < static_cast<int64_t>(lowering.shape(node.inputs[0]).size()); ++axis) axes.push_back(axis);
  Normalization norm;
  norm.is_centred = node.op == Op::LayerNormalization;
  norm.scale = node.input(1);
  norm.bias = norm.is_centred ? node.input(2) : graph::kNone;
  norm.epsilon = node.float_attribute("epsilon", 1e-5f);
  norm.rows = rows_of(lowering, node, std::move(axes));
  return ElementFn([norm](Lowering& l, size_t output, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(normalization_element(l, norm, output, point));
    return elements;
  });
}

}  // namespace tiffin::kernel
