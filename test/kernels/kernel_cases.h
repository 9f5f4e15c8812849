// SPDX-License-Identifier: Apache-2.0
// Builds a small graph, lowers it as one group (and node by node), runs the kernels on random inputs with the interpreter and compares with the
// reference evaluator; code compiled for the machine at hand leaves the interpreter's bits. The seed is printed when a case fails.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/target.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel/lower.h"

namespace tiffin::kernel_cases {

struct Case {
  explicit Case(uint64_t case_seed) : graph("case"), random(case_seed), seed(case_seed) {}

  // A random tensor as an input of the graph; numbers within [low, high].
  graph::ValueId input(DType dtype, std::vector<int64_t> shape, double low = -2, double high = 2);
  // The same as a parameter.
  graph::ValueId parameter(DType dtype, std::vector<int64_t> shape, double low = -2, double high = 2);
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

// Targets that the cases are lowered for: narrow vectors without FMA, wide ones with it, and with masks.
const std::vector<codegen::Target>& targets();

// Expects that the graph's outputs agree: floats within `tolerance` (relative and absolute), integers exactly. The kernels of one target, which the
// seed picks among those that run here, are compiled too and must leave the bits that the interpreter leaves.
void expect_agreement(Case& c, double tolerance = 1e-5);

// The target whose code a case of this seed runs, or null when this machine can run none.
const codegen::Target* compiled_target(uint64_t seed);

// Interprets the kernels one after the other, and with a target compiles them and expects that each leaves the same bits, any NaN for any NaN.
// `values` holds the graph's values by id and receives the outputs.
void run_all(const graph::Graph& graph, std::span<const kernel::LoweredKernel> kernels, const codegen::Target* target,
             std::vector<graph::Tensor>& values);

// The inputs, parameters and constants of the case's graph by id; the others empty.
std::vector<graph::Tensor> known_values(const Case& c);

// Floats within `tolerance` (relative and absolute), integers exactly.
void expect_equal(const graph::Tensor& actual, const graph::Tensor& expected, double tolerance, const std::string& where);

// Interprets one lowered kernel over its units in two parts. `values` holds the graph's values by id and receives the outputs.
Status run(const kernel::LoweredKernel& lowered, const graph::Graph& graph, std::vector<graph::Tensor>& values);

}  // namespace tiffin::kernel_cases
