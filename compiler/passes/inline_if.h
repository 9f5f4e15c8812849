// SPDX-License-Identifier: Apache-2.0
// Replaces an If by the branch that its condition chooses, when the condition is known.
//
//   y = If(true, then_branch = {z = Add(x, w)}, …)  ->  z = Add(x, w)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Inlines one node. Results is the new values, one for each result of the If, whose readers now read them; the If is erased. Types are not
// inferred. Precondition: the condition is a Constant or Parameter; a Parameter is marked frozen.
// Errors: InvalidModel when a branch is missing or has another number of outputs.
Status inline_if(graph::Graph& graph, graph::NodeId id);

// True for an If whose condition is known.
bool can_inline_if(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::passes
