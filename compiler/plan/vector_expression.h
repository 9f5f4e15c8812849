// SPDX-License-Identifier: Apache-2.0
// Vector expressions of the storage plan: small tensors computed from small parameters, such as batch norm's scale and shift.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/plan/plan.h"

namespace tiffin::plan {

struct VectorExpression {
  std::vector<int64_t> shape;  // without axes of one element
  std::vector<VectorStep> steps;
  std::vector<double> constants;
};

// The expression that computes `value` from parameters, or nothing: some operand is no parameter, the tensor is large, or an operator is none of
// Add, Sub, Mul, Div, Sqrt, Cast, Identity, Reshape (over axes of one element). Elements are computed in the value's dtype, each operation rounded
// once.
std::optional<VectorExpression> derive_expression(const graph::Graph& graph, graph::ValueId value,
                                                  const std::map<graph::ValueId, uint32_t>& parameter_index);

}  // namespace tiffin::plan
