// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a Graph (docs/architecture/graph_ir.md).
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::graph {

// InvalidModel with "line L, column C: " for text that is no graph. Types that the text leaves out stay unknown until inferred.
Result<Graph> parse_graph(std::string_view text);

}  // namespace tiffin::graph
