// SPDX-License-Identifier: Apache-2.0
// Derives the storage plan from a graph: which values are stored tensors made from parameters, and how. A value is stored if it is
//   - a parameter itself (a placement of one piece),
//   - made from parameters by Reshape, Transpose, Concat, Identity, zero Pad and PackPanels alone (a placement), or
//   - made from small parameters and constants by Add, Sub, Mul, Div, Sqrt, Cast and such movements (a vector expression).
// docs/architecture/parameters.md defines both.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/plan/plan.h"

namespace tiffin::plan {

struct StorageDecision {
  StoragePlan storage;
  std::map<graph::ValueId, uint32_t> stored_of;  // values that kernels may read as stored tensors -> index into storage.stored
  std::vector<char> is_absorbed;                 // by NodeId: the node's work is done by the storage plan
};

// With `transform` false only parameters themselves are stored. Every parameter of the graph is covered by placements.
// Precondition: static types; the graph's dead nodes are erased.
Result<StorageDecision> plan_storage(const graph::Graph& graph, bool transform);

}  // namespace tiffin::plan
