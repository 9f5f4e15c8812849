// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd: each row along the axis is walked once.
#include <algorithm>

#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;

Status emit_scan(Lowering& l, const Node& node) {
  const std::vector<int64_t> shape = l.shape(node.inputs[0]);
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ops::constant_ints(l.graph(), node, 1, "axis"));
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis_number, ops::normalized_axis(l.graph(), node, axes.at(0), static_cast<int64_t>(shape.size())));
  const size_t axis = static_cast<size_t>(axis_number);
  const bool is_exclusive = node.int_attribute("exclusive", 0) != 0, is_reverse = node.int_attribute("reverse", 0) != 0;
  const bool is_product = node.op == Op::CumProd;
  std::vector<int64_t> rows = shape;
  rows[axis] = 1;
  Kernel& kernel = l.kernel();
  kernel.units = shape[axis] == 0 ? 0 : graph::num_elements(rows);
  kernel.grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, shape[axis]));
  Builder& b = l.b();
  const Type type{compute_dtype(l.dtype(node.outputs[0])), 1};
  b.unit_loop([&](Expr unit) {
    const Index row = l.unflatten(unit, rows);
    Expr total = b.add_register("total", b.number(type, is_product ? 1 : 0));
    b.for_loop("i", shape[axis], [&](Expr i) {
      Index at = row;
      at[axis] = is_reverse ? b.sub(b.i64(shape[axis] - 1), i) : i;
      Expr before = b.let("before", total);
      Expr value = l.value(node.inputs[0], at);
      b.set(total, is_product ? b.mul(before, value) : b.add(before, value));
      l.store(node.outputs[0], at, is_exclusive ? before : total);
    });
  });
  return {};
}

}  // namespace tiffin::kernel
