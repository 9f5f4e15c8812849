// SPDX-License-Identifier: Apache-2.0
// Gives every value that a step reads or writes a buffer: a graph input or output, a stored tensor, a constant, or a place in the arena.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/plan/storage.h"

namespace tiffin::plan {

// A kernel call before buffers are assigned.
struct LoweredStep {
  uint32_t kernel = 0;
  std::vector<graph::ValueId> buffers;  // inputs, then from outputs_begin on results
  size_t outputs_begin = 0;
  std::vector<std::pair<int, int>> in_place;  // (input, result) positions that may share memory
  std::string label;
};

// Fills in plan.constants, entry.buffers, entry.steps and the arena's size. With `alias_views` the result of a View operator is its operand's buffer.
Status assign_buffers(const graph::Graph& graph, const StorageDecision& storage, const std::vector<LoweredStep>& steps, bool alias_views, Plan& plan);

}  // namespace tiffin::plan
