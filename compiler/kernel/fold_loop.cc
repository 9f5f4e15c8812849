// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/fold_loop.h"

#include <algorithm>

namespace tiffin::kernel {

namespace {

constexpr int64_t kWideFactor = 4;  // vectors side by side, which hide the latency of one addition

Expr reduce_lanes(Builder& b, const Monoid& monoid, Expr value) {
  switch (monoid.merge) {
    case BinaryOp::Max:
      return b.reduce_max(value);
    case BinaryOp::Min:
      return b.reduce_min(value);
    default:
      return b.reduce_add(value);
  }
}

// One loop over [begin, end) by `lanes`; the accumulators start at `initial`.
Values fold_with(Lowering& lowering, int64_t begin, int64_t end, int lanes, const Values& initial, const FoldStep& step) {
  Builder& b = lowering.b();
  Values registers;
  for (Expr value : initial) registers.push_back(b.add_register("sum", value));
  b.for_loop("r", b.i64(begin), b.i64(end),
             [&](Expr r) {
               const Values next = step(b.lanes(r, 1, lanes), registers);
               for (size_t i = 0; i < registers.size(); ++i) b.set(registers[i], next[i]);
             },
             {.step = lanes});
  Values folded;
  for (Expr value : registers) folded.push_back(b.let("sum", value));
  return folded;
}

Values identities(Builder& b, const std::vector<Monoid>& monoids, int lanes) {
  Values initial;
  for (const Monoid& monoid : monoids) initial.push_back(b.splat(monoid.identity, lanes));
  return initial;
}

}  // namespace

int lanes_of(Points points) {
  int lanes = 1;
  for (const Index& index : points) {
    for (Expr position : index) lanes = std::max<int>(lanes, position->type.lanes);
  }
  return lanes;
}

Values fold_range(Lowering& lowering, int64_t extent, const std::vector<Monoid>& monoids, int lanes, bool with_lanes, const FoldStep& step) {
  Builder& b = lowering.b();
  const bool can_reduce = std::all_of(monoids.begin(), monoids.end(), [](const Monoid& monoid) { return monoid.merge != BinaryOp::Mul; });
  int natural = with_lanes && can_reduce ? 64 : 1;
  for (const Monoid& monoid : monoids) natural = std::min(natural, lowering.lanes_for(monoid.identity->type.dtype));
  if (natural == 1) return fold_with(lowering, 0, extent, 1, identities(b, monoids, lanes), step);
  const int64_t wide = monoids.size() > 2 ? natural : std::min<int64_t>(natural * kWideFactor, 64);
  const int64_t wide_end = extent / wide * wide, vector_end = extent / natural * natural;
  Values total = identities(b, monoids, 1);
  const auto merge = [&](const Values& vectors) {
    for (size_t i = 0; i < monoids.size(); ++i) {
      total[i] = b.let("sum", b.binary(monoids[i].merge, total[i], reduce_lanes(b, monoids[i], vectors[i])));
    }
  };
  const int outer_lanes = b.index_math().active_lanes();
  b.index_math().set_active_lanes(0);
  if (wide_end > 0) merge(fold_with(lowering, 0, wide_end, static_cast<int>(wide), identities(b, monoids, static_cast<int>(wide)), step));
  if (vector_end > wide_end) merge(fold_with(lowering, wide_end, vector_end, natural, identities(b, monoids, natural), step));
  b.index_math().set_active_lanes(outer_lanes);
  if (extent > vector_end) total = fold_with(lowering, vector_end, extent, 1, total, step);
  return total;
}

}  // namespace tiffin::kernel
