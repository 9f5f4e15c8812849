// SPDX-License-Identifier: Apache-2.0
// From an optimised graph to a Plan: storage, groups, kernels, buffers, memory.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/kernel/machine.h"
#include "compiler/plan/plan.h"

namespace tiffin::plan {

struct PlanOptions {
  kernel::Machine machine;
  int opt_level = 3;
  std::string entry = "default";
};

// Graph outputs that are no node's own result get a copy first, which is why the graph changes. All unsupported operators are listed in one
// UnsupportedOperator. OpenShape if a dimension is still open.
Result<Plan> build_plan(graph::Graph& graph, const PlanOptions& options);

// Readable text of everything in the plan but kernel bodies; stable.
std::string print(const Plan& plan);

}  // namespace tiffin::plan
