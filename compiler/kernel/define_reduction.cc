// SPDX-License-Identifier: Apache-2.0
// Elements of the reductions along axes.
#include <algorithm>
#include <limits>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;
using graph::ValueId;

namespace {

struct Reduction {
  Op op{};
  ValueId operand = graph::kNone;
  std::vector<int64_t> axes, extents;  // reduced, and how long they are
  size_t rank = 0;                     // of the operand
  bool keeps_axes = true;
  int64_t count = 1;
  DType dtype = DType::Undefined;
};

// Where the operand's element lies for a point of the result and a place along the reduced axes.
Index source_of(const Reduction& reduction, const Index& point, const Index& along) {
  Index source(reduction.rank);
  for (size_t i = 0; i < reduction.axes.size(); ++i) source[static_cast<size_t>(reduction.axes[i])] = along[i];
  size_t next = 0;
  for (size_t axis = 0; axis < reduction.rank; ++axis) {
    const bool is_reduced = source[axis] != nullptr;
    if (!is_reduced) source[axis] = point[next];
    if (!is_reduced || reduction.keeps_axes) ++next;
  }
  return source;
}

Expr extreme(Builder& b, DType dtype, bool is_highest) {
  const Type type{dtype, 1};
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_standard_float(dtype)) return b.real(type, is_highest ? infinity : -infinity);
  if (dtype == DType::Bool) return b.boolean(is_highest);
  const int bits = dtype_bits(dtype);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (!is_signed_int(dtype)) return b.integer(type, is_highest ? static_cast<int64_t>(all) : 0);
  return b.integer(type, static_cast<int64_t>(is_highest ? all >> 1 : ~(all >> 1)));
}

Monoid monoid_of(Builder& b, const Reduction& reduction) {
  const Type type{reduction.dtype, 1};
  switch (reduction.op) {
    case Op::ReduceMax:
      return {extreme(b, reduction.dtype, false), BinaryOp::Max};
    case Op::ReduceMin:
      return {extreme(b, reduction.dtype, true), BinaryOp::Min};
    case Op::ReduceProd:
      return {b.number(type, 1), BinaryOp::Mul};
    default:
      return {b.zero(type), BinaryOp::Add};
  }
}

// The term an element contributes.
Expr term_of(Builder& b, Op op, Expr value) {
  switch (op) {
    case Op::ReduceL1:
      return is_unsigned_int(value->type.dtype) ? value : b.abs(value);
    case Op::ReduceL2:
    case Op::ReduceSumSquare:
      return b.mul(value, value);
    default:
      return value;
  }
}

Values reduce_elements(Lowering& l, const Reduction& reduction, Points points) {
  Builder& b = l.b();
  const bool contiguous = reduction.dtype != DType::Bool && l.is_contiguous_along(reduction.operand, reduction.axes);
  l.note_reduction(reduction.count, contiguous);
  const std::vector<Monoid> monoids(points.size(), monoid_of(b, reduction));
  const Values folded =
      fold_range(l, reduction.count, monoids, lanes_of(points), contiguous && l.may_use_lanes(points), [&](Expr r, const Values& sums) {
        std::vector<Index> sources;
        const Index along = l.unflatten(r, reduction.extents);
        for (const Index& point : points) sources.push_back(source_of(reduction, point, along));
        Values next = l.values(reduction.operand, sources);
        for (size_t i = 0; i < next.size(); ++i) next[i] = b.binary(monoids[i].merge, sums[i], term_of(b, reduction.op, next[i]));
        return next;
      });
  Values elements;
  for (Expr value : folded) {
    Expr element = value;
    if (reduction.op == Op::ReduceMean) element = b.div(value, b.number({reduction.dtype, 1}, static_cast<double>(reduction.count)));
    if (reduction.op == Op::ReduceL2) element = b.sqrt(value);
    elements.push_back(element);
  }
  return elements;
}

// Walks along the axis, one element at a time: the first (or last) of the best. NaN is better than any number, as in NumPy.
Values arg_elements(Lowering& l, const Reduction& reduction, bool is_max, bool is_last, Points points) {
  Builder& b = l.b();
  l.note_reduction(reduction.count, false);
  Values elements;
  const uint16_t lanes = static_cast<uint16_t>(lanes_of(points));
  for (const Index& point : points) {
    const auto value_at = [&](Expr r) { return b.splat(l.value(reduction.operand, source_of(reduction, point, {r})), lanes); };
    Expr best = b.add_register("best", b.zero({reduction.dtype, lanes}));
    Expr where = b.add_register("where", b.integer({DType::Int64, lanes}, 0));
    b.for_loop("r", reduction.count, [&](Expr r) {
      Expr value = value_at(r);
      Expr better = is_max ? b.lt(best, value) : b.lt(value, best);
      if (is_last) better = b.bit_or(better, b.eq(best, value));
      if (is_standard_float(reduction.dtype)) {
        Expr is_number = b.eq(best, best), is_nan = b.ne(value, value);
        better = b.bit_or(better, is_last ? is_nan : b.bit_and(is_nan, is_number));
        if (is_last) better = b.bit_and(better, b.bit_or(is_number, is_nan));
      }
      better = b.let("is_better", b.bit_or(better, b.splat(b.eq(r, b.i64(0)), lanes)));
      b.set(best, b.select(better, value, best));
      b.set(where, b.select(better, b.splat(r, lanes), where));
    });
    elements.push_back(b.let("where", where));
  }
  return elements;
}

Result<Reduction> reduction_of(Lowering& lowering, const Node& node) {
  Reduction reduction;
  reduction.op = node.op;
  reduction.operand = node.inputs[0];
  const std::vector<int64_t> shape = lowering.shape(node.inputs[0]);
  TIFFIN_ASSIGN_OR_RETURN(reduction.axes, ops::reduction_axes(lowering.graph(), node));
  reduction.rank = shape.size();
  for (int64_t axis : reduction.axes) reduction.extents.push_back(shape[static_cast<size_t>(axis)]);
  reduction.count = graph::num_elements(reduction.extents);
  reduction.keeps_axes = node.int_attribute("keepdims", 1) != 0;
  reduction.dtype = compute_dtype(lowering.dtype(node.inputs[0]));
  return reduction;
}

}  // namespace

Result<ElementFn> define_reduction(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const Reduction reduction, reduction_of(lowering, node));
  const bool is_extreme = node.op == Op::ReduceMax || node.op == Op::ReduceMin;
  if (reduction.dtype == DType::Bool && !is_extreme) {
    return ops::node_error(Code::UnsupportedType, lowering.graph(), node, "the operator is not lowered for bool, expected numbers");
  }
  return ElementFn([reduction](Lowering& l, size_t, Points points) { return reduce_elements(l, reduction, points); });
}

Result<ElementFn> define_arg_extreme(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const Reduction reduction, reduction_of(lowering, node));
  const bool is_max = node.op == Op::ArgMax, is_last = node.int_attribute("select_last_index", 0) != 0;
  return ElementFn([=](Lowering& l, size_t, Points points) { return arg_elements(l, reduction, is_max, is_last, points); });
}

}  // namespace tiffin::kernel
