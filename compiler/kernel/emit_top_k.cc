// SPDX-License-Identifier: Apache-2.0
// TopK: each row is sorted by merging, which keeps equal elements in the order of their positions, and its first k elements are stored.
#include <algorithm>

#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;

namespace {

struct Column {
  const Buffer* values;
  const Buffer* positions;
};

// Merges the sorted runs of `width` of `from` into runs of twice that length.
void merge_runs(Builder& b, const Column& from, const Column& to, int64_t length, int64_t width, bool is_largest) {
  b.for_loop("start", b.i64(0), b.i64(length),
             [&](Expr start) {
               Expr middle = b.let("middle", b.min(b.add(start, width), b.i64(length))),
                    end = b.let("end", b.min(b.add(start, 2 * width), b.i64(length)));
               Expr left = b.add_register("left", start), right = b.add_register("right", middle);
               b.for_loop("t", start, end, [&](Expr t) {
                 // Exhausted sides are read at a valid place and not taken.
                 Expr l = b.let("l", b.min(left, b.i64(length - 1))), r = b.let("r", b.min(right, b.i64(length - 1)));
                 Expr a = b.let("a", b.load(from.values, l)), c = b.let("c", b.load(from.values, r));
                 Expr is_better = is_largest ? b.lt(a, c) : b.lt(c, a);
                 if (is_standard_float(a->type.dtype)) {
                   // NaN counts as the largest number.
                   Expr left_nan = b.ne(a, a), right_nan = b.ne(c, c);
                   is_better = is_largest ? b.bit_or(is_better, b.bit_and(right_nan, b.logical_not(left_nan)))
                                          : b.bit_or(is_better, b.bit_and(left_nan, b.logical_not(right_nan)));
                 }
                 Expr has_left = b.lt(left, middle), has_right = b.lt(right, end);
                 Expr takes_right = b.let("takes_right", b.bit_and(has_right, b.bit_or(b.logical_not(has_left), is_better)));
                 b.store(to.values, t, b.select(takes_right, c, a));
                 b.store(to.positions, t, b.select(takes_right, b.load(from.positions, r), b.load(from.positions, l)));
                 b.set(right, b.select(takes_right, b.add(right, 1), right));
                 b.set(left, b.select(takes_right, left, b.add(left, 1)));
               });
             },
             {.step = 2 * width});
}

}  // namespace

Status emit_top_k(Lowering& l, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis_number, ops::axis_attribute(l.graph(), node, "axis", -1));
  const size_t axis = static_cast<size_t>(axis_number);
  const std::vector<int64_t> shape = l.shape(node.inputs[0]);
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted, ops::constant_ints(l.graph(), node, 1, "k"));
  const int64_t length = shape[axis], k = wanted.empty() ? 0 : wanted[0];
  const DType dtype = compute_dtype(l.dtype(node.inputs[0]));
  if (dtype == DType::Bool) return ops::node_error(Code::UnsupportedType, l.graph(), node, "the operator is not lowered for bool, expected numbers");
  const bool is_largest = node.int_attribute("largest", 1) != 0;
  std::vector<int64_t> rows = shape;
  rows[axis] = 1;
  Kernel& kernel = l.kernel();
  kernel.units = length == 0 || k <= 0 ? 0 : graph::num_elements(rows);
  kernel.grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, length));
  Builder& b = l.b();
  Column front{kernel.add_scratch("values", dtype, length), kernel.add_scratch("positions", DType::Int64, length)};
  Column back{kernel.add_scratch("merged_values", dtype, length), kernel.add_scratch("merged_positions", DType::Int64, length)};
  b.unit_loop([&](Expr unit) {
    const Index row = l.unflatten(unit, rows);
    b.for_loop("i", length, [&](Expr i) {
      Index at = row;
      at[axis] = i;
      b.store(front.values, i, l.value(node.inputs[0], at));
      b.store(front.positions, i, i);
    });
    for (int64_t width = 1; width < length; width *= 2) {
      merge_runs(b, front, back, length, width, is_largest);
      std::swap(front, back);
    }
    b.for_loop("i", k, [&](Expr i) {
      Index at = row;
      at[axis] = i;
      for (size_t output = 0; output < 2; ++output) {
        const graph::ValueId result = node.output(output);
        if (result == graph::kNone || l.buffer_of(result) == nullptr) continue;
        l.store(result, at, b.load(output == 0 ? front.values : front.positions, i));
      }
    });
  });
  return {};
}

}  // namespace tiffin::kernel
