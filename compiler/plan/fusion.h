// SPDX-License-Identifier: Apache-2.0
// Decides which nodes one kernel computes. A group is one heavy or movement node, or none, and elementwise nodes that end in a single result;
// what lies between is never written to memory.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace tiffin::plan {

struct Group {
  std::vector<graph::NodeId> nodes;  // in topological order; only the last node's results leave the group, unless it is the only node
};

// Groups that cover every live node of the graph which `is_planned` marks (by NodeId), in an order in which they can run. With `fuse` false every
// node is a group of its own. Precondition: static types.
std::vector<Group> choose_groups(const graph::Graph& graph, const std::vector<char>& is_planned, bool fuse);

}  // namespace tiffin::plan
