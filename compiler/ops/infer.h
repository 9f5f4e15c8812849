// SPDX-License-Identifier: Apache-2.0
// Type and shape inference, and every check of a node against the catalogue. A shape that depends on the value of an input that is no constant
// stays unknown: a fresh symbol for a dimension, no shape when even the rank is open. Folding that input and inferring again completes it.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// Sets the types of the node's results from its inputs. InvalidModel: arity, attributes, element types that ONNX forbids, values out of range,
// dimension products beyond int64. ShapeMismatch: shapes that do not fit together. UnsupportedType: an element type that ONNX allows here and
// Tiffin does not. Every message names the node and the operator.
Status infer_node(graph::Graph& graph, graph::NodeId id);

// infer_node for all live nodes, producers first, and the bodies of If, Loop and Scan.
Status infer_types(graph::Graph& graph);

// infer_types of a graph that somebody wrote: InvalidModel where a result is declared to be what its node does not give. What is left open in either
// type agrees with anything.
Status infer_declared_types(graph::Graph& graph);

}  // namespace tiffin::ops
