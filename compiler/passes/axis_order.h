// SPDX-License-Identifier: Apache-2.0
// Operators that work the same in any order of their axes, and how to rename the axes; for cancel_transposes.
#pragma once

#include "compiler/passes/rewriter.h"

namespace tiffin::passes {

// Whether all tensors of the node can be transposed alike: elementwise operators, and Pad, Concat, Slice and Reduce* with constant axes. Its result
// must have the rank of its tensors that carry data, and a static shape.
bool can_reorder_axes(const graph::Graph& graph, const Node& node);

// Whether input `i` carries data of the node, and is no list of axes or bounds.
bool is_data_input(const Node& node, size_t i);

// Renames the axes in attributes and operands of a node whose data inputs and result become Transpose(…, permutation).
void reorder_axes(graph::Graph& graph, graph::NodeId id, const Extents& permutation);

// Whether a reduction that drops its dimensions gives the same from Transpose(its operand, order) with its axes renamed.
bool can_reduce_in_order(const graph::Graph& graph, const Node& node, const Extents& order);

// The axes of `shape` that hold more than one element keep their order: the Transpose is a Reshape.
bool moves_only_ones(const Extents& permutation, const Extents& shape);

Extents inverse_permutation(const Extents& permutation);
// Transpose by `first`, then by `second`.
Extents compose(const Extents& first, const Extents& second);
bool is_identity(const Extents& permutation);

}  // namespace tiffin::passes
