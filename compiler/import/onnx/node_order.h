// SPDX-License-Identifier: Apache-2.0
// Checks how the nodes of one graph hang together and puts them in an order in which producers come first.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/status.h"
#include "compiler/import/onnx/model_proto.h"

namespace tiffin::import {

// Every name that the graph's nodes, their bodies and its outputs read.
std::set<std::string> names_read(const GraphProto& graph);

// Names that a graph reads from the graphs around it, in order of first use. Precondition: `captured` is set in the bodies inside it.
std::vector<std::string> free_names(const GraphProto& graph);

// Places in graph.nodes, the file's order as far as it is one. `is_known` tells names that exist without a node: inputs, initializers, values
// of enclosing graphs. Errors: InvalidModel (cycle, a value that nothing defines, or that is defined twice), with the node.
Result<std::vector<size_t>> order_nodes(const GraphProto& graph, const std::set<std::string>& own_names,
                                        const std::function<bool(const std::string&)>& is_outer);

}  // namespace tiffin::import
