// SPDX-License-Identifier: Apache-2.0
// The equation of Einsum, parsed: labels of every operand and of the result as small numbers.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// Labels are 0, 1, …, label_count - 1: first those of the result, in its order, then the summed ones. The axes of an ellipsis have labels of their
// own, aligned at the right and broadcast (extent 1 repeats).
struct Einsum {
  std::vector<std::vector<int>> operands;  // one label for each axis of each input; a label may repeat (diagonal)
  int result_rank = 0;
  int label_count = 0;
  std::vector<int64_t> extents;  // per label; -1 when unknown
};

// InvalidModel for an equation that does not parse or fit, ShapeMismatch when extents of a label differ. Precondition: all ranks are known.
Result<Einsum> einsum_of(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
