// SPDX-License-Identifier: Apache-2.0
// The rules by family; internal to simplify_graph. Each gives the value that stands for the node's result, or kNone when the node stays. All types
// of the node are static, and it has one result.
#pragma once

#include "compiler/passes/pattern.h"

namespace tiffin::passes {

// simplify_elementwise.cc
ValueId simplify_cast(Rewriter& rewriter, const Pattern& pattern);
ValueId simplify_arithmetic(Rewriter& rewriter, const Pattern& pattern);    // Add, Sub, Mul, Div
ValueId simplify_inverse_pair(Rewriter& rewriter, const Pattern& pattern);  // Neg, Not
ValueId simplify_where(Rewriter& rewriter, const Pattern& pattern);
// Operands of an elementwise operator that an Expand made, where broadcasting gives the same. True when the node has changed.
bool drop_expands(graph::Graph& graph, graph::NodeId id, const Pattern& pattern);

// simplify_movements.cc
ValueId simplify_reshape(Rewriter& rewriter, const Pattern& pattern);
ValueId simplify_transpose(Rewriter& rewriter, const Pattern& pattern);
ValueId simplify_slice(Rewriter& rewriter, const Pattern& pattern);
ValueId simplify_gather(Rewriter& rewriter, const Pattern& pattern);
// Expand, Slice, Pad and Concat that give what they read.
ValueId simplify_copy(Rewriter& rewriter, const Pattern& pattern);

// The permutation of a Transpose, written out.
Extents permutation_of(const graph::Graph& graph, const Node& transpose);

}  // namespace tiffin::passes
