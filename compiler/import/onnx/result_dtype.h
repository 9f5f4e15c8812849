// SPDX-License-Identifier: Apache-2.0
// The element type of a node's results, told from its inputs while the graph grows: older operator forms and CastLike need it before the
// full inference of compiler/ops can run.
#pragma once

#include "compiler/graph/graph.h"

namespace tiffin::import {

// Undefined when it cannot be told. Precondition: the inputs' types are set as far as known.
DType result_dtype(const graph::Graph& graph, const graph::Node& node, size_t output_index);

}  // namespace tiffin::import
