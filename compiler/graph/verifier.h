// SPDX-License-Identifier: Apache-2.0
// The rules every Graph obeys between passes: one producer per value, no cycle, live operands, unique names, outputs that exist.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::graph {

// InvalidModel naming the node or value that breaks a rule; bodies of If, Loop and Scan are checked against the enclosing graph's names.
// Operators' own rules (arity, attributes, shapes) are checked by ops/infer.h.
Status verify_graph(const Graph& graph);

}  // namespace tiffin::graph
