// SPDX-License-Identifier: Apache-2.0
// Lowers a group of graph nodes to one kernel. Intermediate values that only the group uses are computed where they are needed and never stored.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel/ir.h"
#include "compiler/kernel/machine.h"

namespace tiffin::kernel {

struct LoweredKernel {
  std::unique_ptr<Kernel> kernel;
  // Kernel parameter i is graph value buffers[i]: the group's external inputs in order of first use, then its outputs: the results that have a
  // reader outside the group or are outputs of the graph. Constants of one element stand in the code and are no buffers, likewise operands that
  // only shape the program (axes, pads, a Reshape's shape).
  std::vector<graph::ValueId> buffers;
  // (input parameter, output parameter): each element of the input is read only before the same element of the output is written, and both have
  // the same number of bytes, so that one buffer can serve as both.
  std::vector<std::pair<int, int>> in_place;
};

struct LowerOptions {
  Machine machine;
  bool vectorise = true;
  // graph.build_users(), to be shared between calls; null: computed.
  const std::vector<std::vector<graph::NodeId>>* users = nullptr;
};

// `nodes` in topological order. Any group of elementwise and movement operators is one loop nest, and so is one heavy operator (ops/op_class.h)
// with such operators before and after it. UnsupportedOperator: an operator without a lowering, or two heavy operators of which one needs a kernel
// of its own (see needs_own_kernel). UnsupportedType: element types that kernels do not compute with. OpenShape: a type that is not static.
Result<LoweredKernel> lower_group(const graph::Graph& graph, std::span<const graph::NodeId> nodes, const LowerOptions& options);

// True when lower_group knows the operator at all; its attributes and types may still be declined.
bool has_lowering(graph::Op op);

// True for operators whose results are stored by statements of their own (scans, scatters, TopK, recurrences): nothing that reads their results
// can be in the same group, while elementwise and movement operators before them can.
bool needs_own_kernel(graph::Op op);

}  // namespace tiffin::kernel
