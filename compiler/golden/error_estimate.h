// SPDX-License-Identifier: Apache-2.0
// How far a run of compiled kernels may lie from the reference, estimated to first order along an evaluation: each operator passes on the error of
// its operands and adds its own rounding, which grows with the number of terms it sums. docs/architecture/golden_cases.md has the rules.
#pragma once

#include <span>
#include <vector>

#include "abi/golden.h"
#include "compiler/graph/graph.h"

namespace tiffin::golden {

// Of one tensor.
struct Estimate {
  double error = 0;   // typical absolute error of an element
  double rms = 0;     // root of the mean square of its finite elements
  double spread = 0;  // their standard deviation
  double relative() const { return rms > 0 ? error / rms : 0; }
};

// Follows one evaluation of a graph, in its order. Not thread-safe.
class ErrorEstimate {
 public:
  explicit ErrorEstimate(const graph::Graph& graph) : graph_(graph), values_(graph.value_capacity()) {}

  // Estimates the results of a node whose operands were estimated or are exact (inputs and constants).
  void observe(const graph::Node& node, std::span<const graph::Tensor> inputs, std::span<const graph::Tensor> results);
  // Exact for a value that is no result.
  Estimate of(graph::ValueId value) const { return values_[static_cast<size_t>(value)]; }

 private:
  Estimate operand(graph::ValueId value, const graph::Tensor& tensor);

  const graph::Graph& graph_;
  std::vector<Estimate> values_;
  std::vector<char> is_measured_ = std::vector<char>(values_.size());
};

// Eight times the estimated error: what is accepted for a tensor of that type. Integers and bools are compared exactly unless they were rounded from
// floats that have an error; then they may be off by one, or by as much as the estimate says.
tiffin_golden_tolerance tolerance_of(DType dtype, const Estimate& estimate);

}  // namespace tiffin::golden
