// SPDX-License-Identifier: Apache-2.0
// What targets do with a graph once a reader has taken it.
#pragma once

#include "compiler/graph/graph.h"

namespace tiffin::fuzz {

// Verifies, infers and prints. A graph whose text is short is parsed and printed again, which gives the same text.
void check_graph(graph::Graph& graph);

}  // namespace tiffin::fuzz
