// SPDX-License-Identifier: Apache-2.0
// Builds a small graph, lowers it as one group (and node by node), runs the kernels with the interpreter on random inputs and compares with the
// reference evaluator. The seed is printed when a case fails.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernel/lower.h"

namespace tiffin::kernel_cases {

struct Case {
  explicit Case(uint64_t case_seed) : graph("case"), random(case_seed), seed(case_seed) {}

  // A random tensor as an input of the graph; numbers within [low, high].
  graph::ValueId input(DType dtype, std::vector<int64_t> shape, double low = -2, double high = 2);
  graph::ValueId constant(const graph::Tensor& tensor) { return graph.add_constant("", tensor); }
  graph::ValueId node(graph::Op op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {}) {
    return graph.add_node(op, "", std::move(inputs), std::move(attributes));
  }
  int64_t extent(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  graph::Graph graph;
  std::mt19937_64 random;
  uint64_t seed;
  std::vector<graph::Tensor> inputs;
};

// Machines that the cases are lowered for: without vectors, with and without masks.
std::vector<kernel::Machine> machines();

// Expects that the graph's outputs agree: floats within `tolerance` (relative and absolute), integers exactly.
void expect_agreement(Case& c, double tolerance = 1e-5);

// Runs one lowered kernel over its units in two parts. `values` holds the graph's values by id and receives the outputs.
Status run(const kernel::LoweredKernel& lowered, const graph::Graph& graph, std::vector<graph::Tensor>& values);

}  // namespace tiffin::kernel_cases
