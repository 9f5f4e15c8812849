// SPDX-License-Identifier: Apache-2.0
// d / Sqrt(ReduceMean(d ** 2) + epsilon) over trailing axes, the heart of layer and RMS normalisation; for the passes that recognise these.
#pragma once

#include "compiler/passes/pattern.h"

namespace tiffin::passes {

struct NormalizedRows {
  ValueId rows = graph::kNone;  // d, or what was centred
  int64_t axis = 0;             // the first of the axes
  double epsilon = 0;
  ValueId gamma = graph::kNone;  // a row that the quotient is multiplied by, in match_centred_rows
  std::vector<ValueId> numbers;  // to freeze
};

// Matches the node that computes the quotient.
std::optional<NormalizedRows> match_normalized_rows(const Pattern& pattern, const Node& node);
// The same of x - ReduceMean(x), with x as the rows. The variance may also be ReduceMean(x ** 2) - ReduceMean(x) ** 2, which is less exact than what
// the operator computes, and the divisor may have become a factor together with gamma.
std::optional<NormalizedRows> match_centred_rows(const Pattern& pattern, const Node& node);

// The axis that a reduction to one element a row begins at: its axes are all from there on. Nothing for another reduction.
std::optional<int64_t> trailing_axis(const Pattern& pattern, const Node& reduction);

// Whether `value` has one element for each element of a row of `x` from `axis` on, or one in all.
bool is_row(const Pattern& pattern, ValueId value, ValueId x, int64_t axis);

// `value` as a tensor of the row's shape, or as it is when it has one element.
ValueId row_shaped(Rewriter& rewriter, ValueId value, const std::string& part, ValueId x, int64_t axis);

// The reader of `value` when it is its only one, that operator, and its other operand is a row.
const Node* row_reader(const Pattern& pattern, ValueId value, Op op, ValueId x, int64_t axis);

}  // namespace tiffin::passes
