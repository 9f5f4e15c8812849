// SPDX-License-Identifier: Apache-2.0
// Which operands of an operator must be known at compile time: they decide a shape, an axis or a bound that kernels hold as numbers.
#pragma once

#include <cstddef>

#include "compiler/graph/graph.h"

namespace tiffin::passes {

// True for Reshape's shape, Slice's starts, Clip's bounds, …; never for weights, scales or zero points.
bool is_program_operand(graph::Op op, size_t input_index);

// Marks parameters frozen that program operands read.
void freeze_program_operands(graph::Graph& graph);

}  // namespace tiffin::passes
