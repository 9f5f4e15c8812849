// SPDX-License-Identifier: Apache-2.0
// Elements of the pools.
#include <limits>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/kernel/window_walk.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::ValueId;

namespace {

struct Pool {
  ValueId data = graph::kNone;
  ops::Window window;
  std::vector<int64_t> shape;    // of the data
  bool with_pads = false;        // AveragePool
  bool is_column_major = false;  // MaxPool's Indices
  DType dtype = DType::Undefined;
};

Index source_of(const Index& point, const Index& position) {
  Index source{point[0], point[1]};
  source.insert(source.end(), position.begin(), position.end());
  return source;
}

Values average_elements(Lowering& l, const Pool& pool, Points points) {
  Builder& b = l.b();
  const Type type{pool.dtype, static_cast<uint16_t>(lanes_of(points))};
  Values sums;
  for (size_t i = 0; i < points.size(); ++i) sums.push_back(b.add_register("sum", b.zero(type)));
  l.note_reduction(graph::num_elements(pool.window.kernel), false);
  WindowWalk walk(l, pool.window, points, 2);
  walk.run([&](const std::vector<Index>& positions, const Index&) {
    for (size_t p = 0; p < points.size(); ++p) {
      if (!positions[p].empty()) b.set(sums[p], b.add(sums[p], l.value(pool.data, source_of(points[p], positions[p]))));
    }
  });
  const Values counts = walk.count_taps(pool.with_pads);
  Values elements;
  // A window without any element, which ceil_mode and pads can make, averages to 0.
  for (size_t p = 0; p < points.size(); ++p) elements.push_back(b.div(b.let("sum", sums[p]), b.cast(b.max(counts[p], b.i64(1)), pool.dtype)));
  return elements;
}

Expr lowest(Builder& b, DType dtype, int lanes) {
  const Type type{dtype, static_cast<uint16_t>(lanes)};
  if (is_standard_float(dtype)) return b.real(type, -std::numeric_limits<double>::infinity());
  if (!is_signed_int(dtype)) return b.integer(type, 0);
  return b.integer(type, static_cast<int64_t>(uint64_t{1} << (dtype_bits(dtype) - 1)));
}

Values max_elements(Lowering& l, const Pool& pool, Points points) {
  Builder& b = l.b();
  Values best;
  for (size_t i = 0; i < points.size(); ++i) best.push_back(b.add_register("best", lowest(b, pool.dtype, lanes_of(points))));
  l.note_reduction(graph::num_elements(pool.window.kernel), false);
  WindowWalk walk(l, pool.window, points, 2);
  walk.run([&](const std::vector<Index>& positions, const Index&) {
    for (size_t p = 0; p < points.size(); ++p) {
      if (!positions[p].empty()) b.set(best[p], b.max(best[p], l.value(pool.data, source_of(points[p], positions[p]))));
    }
  });
  for (Expr& value : best) value = b.let("best", value);
  return best;
}

// Where the maximum lies in the flattened data; the first of equals. A NaN counts as larger than any number.
Expr max_position(Lowering& l, const Pool& pool, const Index& point) {
  Builder& b = l.b();
  const int lanes = lanes_of({&point, 1});
  Expr best = b.add_register("best", lowest(b, pool.dtype, lanes));
  Expr where = b.add_register("where", b.integer({DType::Int64, static_cast<uint16_t>(lanes)}, -1));
  l.note_reduction(graph::num_elements(pool.window.kernel), false);
  WindowWalk walk(l, pool.window, {&point, 1}, 2);
  walk.run([&](const std::vector<Index>& positions, const Index&) {
    if (positions[0].empty()) return;
    const Index source = source_of(point, positions[0]);
    Expr value = l.value(pool.data, source);
    Expr position = l.flatten(source, pool.shape);
    if (pool.is_column_major) {
      position = b.add(b.mul(source[0], pool.shape[1]), source[1]);
      const std::vector<int64_t> extents(pool.shape.begin() + 2, pool.shape.end());
      Expr inner = b.i64(0);
      for (size_t axis = extents.size(); axis-- > 0;) inner = b.add(b.mul(inner, extents[axis]), positions[0][axis]);
      position = b.add(b.mul(position, graph::num_elements(extents)), inner);
    }
    Expr is_first = b.lt(where, b.integer(where->type, 0));
    Expr is_better = b.let("is_better", b.bit_or(is_first, b.lt(best, value)));
    if (is_standard_float(pool.dtype)) {
      is_better = b.let("is_better", b.bit_or(is_better, b.bit_and(b.ne(value, value), b.eq(best, best))));
    }
    b.set(best, b.select(is_better, value, best));
    b.set(where, b.select(is_better, position, where));
  });
  return b.let("where", where);
}

Result<Pool> pool_of(Lowering& lowering, const Node& node) {
  Pool pool;
  TIFFIN_ASSIGN_OR_RETURN(pool.window, ops::window_of(lowering.graph(), node));
  pool.data = node.inputs[0];
  pool.shape = lowering.shape(pool.data);
  pool.dtype = compute_dtype(lowering.dtype(pool.data));
  pool.with_pads = node.int_attribute("count_include_pad", 0) != 0;
  pool.is_column_major = node.int_attribute("storage_order", 0) != 0;
  return pool;
}

}  // namespace

Result<ElementFn> define_average_pool(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const Pool pool, pool_of(lowering, node));
  return ElementFn([pool](Lowering& l, size_t, Points points) { return average_elements(l, pool, points); });
}

Result<ElementFn> define_max_pool(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const Pool pool, pool_of(lowering, node));
  return ElementFn([pool](Lowering& l, size_t output, Points points) {
    if (output == 0) return max_elements(l, pool, points);
    Values elements;
    for (const Index& point : points) elements.push_back(max_position(l, pool, point));
    return elements;
  });
}

}  // namespace tiffin::kernel
