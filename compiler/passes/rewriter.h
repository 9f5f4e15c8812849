// SPDX-License-Identifier: Apache-2.0
// Builds the nodes that replace one node: named after it, types inferred at once, the first failure remembered.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::passes {

using graph::Attributes;
using graph::Node;
using graph::Op;
using graph::ValueId;
using Extents = std::vector<int64_t>;

class Rewriter {
 public:
  // New nodes are called "<name of node>/<part>"; a node without a name lends the name of its first result.
  Rewriter(graph::Graph& graph, graph::NodeId id);

  graph::Graph& graph() { return graph_; }
  const Node& node() const { return graph_.node(id_); }
  bool has_input(size_t i) const { return node().input(i) != graph::kNone; }
  bool has_output(size_t i) const { return node().output(i) != graph::kNone; }
  ValueId input(size_t i) const { return node().input(i); }
  DType dtype(ValueId value) const { return graph_.value(value).type.dtype; }
  // Empty and 0 for a value without a static shape, which only a failure leaves.
  Extents shape(ValueId value) const;
  int64_t rank(ValueId value) const { return static_cast<int64_t>(shape(value).size()); }

  // The result of a new node. After a failure it is a value without a type.
  ValueId add(Op op, const std::string& part, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId constant(const std::string& part, graph::Tensor tensor);
  // A scalar constant of that element type. Precondition: it has a computing type (floats, integers, bool).
  ValueId number(DType dtype, double value);
  ValueId ints(const std::string& part, const Extents& values);

  // Reshape to exactly `to`; the value itself when it has that shape.
  ValueId reshape(ValueId value, const std::string& part, const Extents& to);
  // The value itself when the permutation moves nothing.
  ValueId transpose(ValueId value, const std::string& part, const Extents& permutation);
  ValueId slice(ValueId value, const std::string& part, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);
  ValueId expand(ValueId value, const std::string& part, const Extents& to);
  ValueId concat(std::vector<ValueId> values, const std::string& part, int64_t axis);
  ValueId cast(ValueId value, const std::string& part, DType to);
  // Op is a Reduce*; keepdims as given. The value itself for no axes.
  ValueId reduce(Op op, ValueId value, const std::string& part, const Extents& axes, bool keeps_dims);

  // The first failure of inference, with the node's name.
  Status take_status() { return std::move(status_); }
  bool is_ok() const { return status_.is_ok(); }

 private:
  graph::Graph& graph_;
  graph::NodeId id_;
  std::string prefix_;
  Status status_;
};

}  // namespace tiffin::passes
