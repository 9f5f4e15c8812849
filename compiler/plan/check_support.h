// SPDX-License-Identifier: Apache-2.0
// Tells everything of a graph that cannot be compiled, in one error.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel/machine.h"

namespace tiffin::plan {

// UnsupportedOperator with all stand-ins, those in bodies too, all branches that are left, all operators whose results have a shape that only running
// them tells, and all that have no kernel; beside those, operators whose kernel declines their form or types. What merely reads a result of unknown
// shape is not named. Precondition: decomposed, types inferred.
Status check_support(const graph::Graph& graph, const kernel::Machine& machine);

}  // namespace tiffin::plan
