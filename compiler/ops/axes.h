// SPDX-License-Identifier: Apache-2.0
// Axis attributes and inputs, normalised: the rules that inference, reference and kernels share.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// `axis` in [-rank, rank) as a number in [0, rank); else InvalidModel. `what` names it in the message ("axis").
Result<int64_t> normalized_axis(const graph::Graph& graph, const graph::Node& node, int64_t axis, int64_t rank, const char* what = "axis");

// The same for a list, order kept; a repeated axis is InvalidModel.
Result<std::vector<int64_t>> normalized_axes(const graph::Graph& graph, const graph::Node& node, const std::vector<int64_t>& axes, int64_t rank);

// The int attribute `key` as an axis of input 0. Precondition: the rank of input 0 is known.
Result<int64_t> axis_attribute(const graph::Graph& graph, const graph::Node& node, const char* key, int64_t otherwise);

// The axes that a Reduce*, ArgMax, ArgMin or MeanVarianceNormalization reduces, ascending. All axes when the node names none; none when
// `noop_with_empty_axes` is set. Precondition: the rank of input 0 is known. UnsupportedOperator when the axes are an input that is no constant.
Result<std::vector<int64_t>> reduction_axes(const graph::Graph& graph, const graph::Node& node);

// True for a Reduce* that names no axes and asks for `noop_with_empty_axes`: it maps each element alone (ReduceSumSquare squares it).
bool is_reduction_without_axes(const graph::Graph& graph, const graph::Node& node);

// Axes of Squeeze (every axis of extent 1 when absent), ascending, and of Unsqueeze (relative to the result), ascending.
Result<std::vector<int64_t>> squeeze_axes(const graph::Graph& graph, const graph::Node& node);
Result<std::vector<int64_t>> unsqueeze_axes(const graph::Graph& graph, const graph::Node& node);

// The elements of input `index`, an integer Constant or Parameter. UnsupportedOperator when it is computed, InvalidModel when it is no integer.
Result<std::vector<int64_t>> constant_ints(const graph::Graph& graph, const graph::Node& node, size_t index, const char* what);

}  // namespace tiffin::ops
