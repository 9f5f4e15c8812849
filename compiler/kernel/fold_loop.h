// SPDX-License-Identifier: Apache-2.0
// A reduction inside an element: many accumulators over one range, with lanes of its own where the range is contiguous. The order in which terms
// are combined depends on the range alone: wide vectors, single vectors, then elements.
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

// How accumulators start and how two of them become one.
struct Monoid {
  Expr identity = nullptr;  // a scalar
  BinaryOp merge{};         // Add, Max, Min or Mul
};

// The accumulators after the term(s) at `r`, which has lanes or none, as the accumulators have.
using FoldStep = std::function<Values(Expr r, const Values& accumulators)>;

// Folds r over [0, extent). `with_lanes`: r may have lanes (Lowering::may_use_lanes, and loads along r are even). `lanes` is the number the results
// have (that of the nest); it is 1 when with_lanes is set. Accumulators hold `dtype`.
Values fold_range(Lowering& lowering, int64_t extent, const std::vector<Monoid>& monoids, int lanes, bool with_lanes, const FoldStep& step);

// The widest lanes of the points' indices.
int lanes_of(Points points);

}  // namespace tiffin::kernel
