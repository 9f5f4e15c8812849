// SPDX-License-Identifier: Apache-2.0
// A Graph as text (docs/architecture/graph_ir.md). parse_graph(print_graph(g)) prints the same text.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace tiffin::graph {

struct PrintOptions {
  // Tensors of more elements than this are printed as `elided(ELEMENTS)`, which the parser refuses, unless uniform. Negative: print all in full.
  int64_t max_elements = -1;
};

// Inputs, then parameters and constants by id, nodes in topological order, outputs. Precondition: the graph is valid (verifier.h).
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

}  // namespace tiffin::graph
