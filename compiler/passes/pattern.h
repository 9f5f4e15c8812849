// SPDX-License-Identifier: Apache-2.0
// Questions about a graph that passes ask to recognise an expression: who computes a value, is it one number, who else reads it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/passes/rewriter.h"

namespace tiffin::passes {

class Pattern {
 public:
  // Readers are counted once: a pass that rewrites makes a new Pattern, or asks only about values that it did not change.
  explicit Pattern(graph::Graph& graph);

  // The single-result node of that operator which computes the value, or null.
  const Node* producer(ValueId value, Op op) const;
  // The only node that reads the value, once, or kNone; kNone for a graph output.
  graph::NodeId only_reader(ValueId value) const;
  bool has_one_reader(ValueId value) const { return only_reader(value) != graph::kNone; }
  // A tensor all of whose elements are that number, a Constant; or a Parameter of one element, whose value the caller freezes when it relies on it.
  std::optional<double> number(ValueId value) const;
  // The same and close to `expected`, as close as the element type tells constants apart.
  bool is_number(ValueId value, double expected) const;
  bool is_near(DType dtype, double actual, double expected) const;
  // The axes of a reduction that keeps its dimensions; empty for another one.
  Extents kept_axes(const Node& reduction) const;
  // The other operand of a two-operand node.
  static ValueId other(const Node& node, ValueId operand) { return node.inputs[0] == operand ? node.inputs[1] : node.inputs[0]; }

  const graph::Graph& graph() const { return graph_; }
  Extents shape(ValueId value) const;
  DType dtype(ValueId value) const { return graph_.value(value).type.dtype; }

 private:
  graph::Graph& graph_;
  std::vector<int> read_count_;
  std::vector<graph::NodeId> last_reader_;
};

// Element types in which an operator and the formula that defines it agree within a few units in the last place of the result. A formula in a 16-bit
// type rounds every step to 8 or 11 bits, which the operator does not repeat.
constexpr bool is_full_precision(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

// Marks the Parameters among `values` frozen: their numbers shape the program.
void freeze(graph::Graph& graph, const std::vector<ValueId>& values);

}  // namespace tiffin::passes
