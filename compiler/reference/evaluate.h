// SPDX-License-Identifier: Apache-2.0
// Slow, readable evaluation of operators: the oracle of tests and the engine of constant folding.
//
// Numeric rules, those of compiled code as well: arithmetic of float32 in float32, of float16 and bfloat16 in float32 with one rounding at the
// end, of float64 in float64; sums and means of floats accumulate in double and round once. Integers wrap; Div truncates and a zero divisor gives
// 0. Max, Min, Relu and Clip keep NaN. A float to integer Cast truncates, saturates, and maps NaN to 0. Round is half to even.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::reference {

// The results of `node` on `inputs` (one per node input; an omitted one is an empty Tensor): one per node output, an omitted output an empty
// Tensor. The graph is the node's; inputs must have types that inference accepts, as they are in a graph that passed it. Thread-safe.
// Errors: UnsupportedOperator for an operator without evaluation, UnsupportedType, and InvalidModel or IndexOutOfRange for values that the
// operator forbids.
Result<std::vector<graph::Tensor>> evaluate(const graph::Graph& graph, const graph::Node& node, std::span<const graph::Tensor> inputs);

// The outputs of the whole graph on `inputs`, one per graph input. Bodies of If are evaluated as well. Errors: as evaluate, with the node's name.
Result<std::vector<graph::Tensor>> evaluate_graph(const graph::Graph& graph, const std::vector<graph::Tensor>& inputs);

// The same, and `observe` sees each node of the graph (of a body none) as it is evaluated, in topological order; its failure ends the evaluation.
// Values are let go after their last reader.
using Observer = std::function<Status(const graph::Node& node, std::span<const graph::Tensor> inputs, std::span<const graph::Tensor> results)>;
Result<std::vector<graph::Tensor>> evaluate_graph(const graph::Graph& graph, const std::vector<graph::Tensor>& inputs, const Observer& observe);

// True if evaluate has an evaluation for the operator.
bool can_evaluate(graph::Op op);

}  // namespace tiffin::reference
