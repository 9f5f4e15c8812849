// SPDX-License-Identifier: Apache-2.0
// For tests of passes: a graph as text, evaluated by the reference before and after passes on random inputs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/text_form.h"
#include "compiler/graph/verifier.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/reference/evaluate.h"

namespace tiffin::passes {

using Pass = Status (*)(graph::Graph&, PassContext&);

inline graph::Graph parsed(const std::string& text) {
  Result<graph::Graph> graph = graph::parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << (graph.has_value() ? "" : graph.error().message());
  if (!graph.has_value()) return graph::Graph("none");
  const Status status = ops::infer_types(*graph);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return std::move(*graph);
}

inline void run_pass(graph::Graph& graph, Pass pass) {
  PassContext context;
  Status status = pass(graph, context);
  ASSERT_TRUE(status.is_ok()) << status.message();
  status = graph::verify_graph(graph);
  ASSERT_TRUE(status.is_ok()) << status.message() << "\n" << graph::print_graph(graph);
}

inline int count_nodes(const graph::Graph& graph, graph::Op op) {
  int count = 0;
  for (const graph::NodeId id : graph.topological_order()) count += graph.node(id).op == op;
  return count;
}
inline int count_nodes(const graph::Graph& graph) { return static_cast<int>(graph.topological_order().size()); }

inline std::vector<graph::Tensor> random_inputs(const graph::Graph& graph, uint64_t seed) {
  std::vector<graph::Tensor> inputs;
  for (const graph::ValueId id : graph.inputs()) {
    const graph::Type& type = graph.value(id).type;
    std::vector<uint8_t> bytes;
    graph::append_random(type.dtype, seed++, type.num_elements(), &bytes);
    inputs.emplace_back(type.dtype, type.static_shape(), bytes);
  }
  return inputs;
}

// Runs the passes on the graph and compares its outputs with those before, relative to 1 + |expected|; 0 asks for equal bytes.
inline graph::Graph expect_same_results(const std::string& text, const std::vector<Pass>& passes, double tolerance) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  graph::Graph graph = parsed(text);
  const std::vector<graph::Tensor> inputs = random_inputs(graph, seed);
  auto expected = reference::evaluate_graph(graph, inputs);
  EXPECT_TRUE(expected.has_value()) << (expected.has_value() ? "" : expected.error().message());
  for (const Pass pass : passes) run_pass(graph, pass);
  auto actual = reference::evaluate_graph(graph, inputs);
  EXPECT_TRUE(actual.has_value()) << (actual.has_value() ? "" : actual.error().message());
  if (!expected.has_value() || !actual.has_value()) return graph;
  for (size_t i = 0; i < expected->size(); ++i) {
    EXPECT_EQ((*actual)[i].type(), (*expected)[i].type());
    if (tolerance == 0) {
      EXPECT_TRUE((*actual)[i].equals((*expected)[i])) << "output " << i << "\n" << graph::print_graph(graph);
      continue;
    }
    const std::vector<double> a = (*actual)[i].to_doubles(), b = (*expected)[i].to_doubles();
    for (size_t k = 0; k < a.size() && k < b.size(); ++k) {
      EXPECT_NEAR(a[k], b[k], tolerance * (1 + std::fabs(b[k]))) << "output " << i << ", element " << k;
    }
  }
  return graph;
}

}  // namespace tiffin::passes
