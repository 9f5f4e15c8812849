// SPDX-License-Identifier: Apache-2.0
// Makes golden cases: inputs, the outputs that the reference evaluator computes of them with the model as it was imported, and for each variant
// sketches of what its steps write, computed by the same evaluator with the graph as it was planned.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "compiler/artifact/golden_section.h"
#include "compiler/graph/graph.h"
#include "compiler/plan/plan.h"

namespace tiffin::golden {

struct RecorderOptions {
  uint32_t count = 1;                             // of cases with random inputs, where none are given
  int threads = 1;                                // that evaluate, one case each
  std::function<void(double fraction)> progress;  // of one evaluation of all cases, from any thread, never from two at once; may be empty
  std::stop_token stop;                           // ends an evaluation with Cancelled
};

// For one thread at a time.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  // Evaluates the model: a graph of operators that the reference knows, with the artifact's inputs and outputs. `given` has the inputs of each case
  // in their order; without any they are random, and integers become smaller while they are out of range as indices. The codes of
  // reference::evaluate_graph, UnsupportedType.
  Status record_cases(const graph::Graph& graph, std::vector<std::vector<graph::Tensor>> given);
  // Sketches of the variant with that index, after record_cases. `plan` was made of `graph`.
  Status record_steps(uint32_t variant, const graph::Graph& graph, const plan::Plan& plan);

  bool has_cases() const { return !golden_.cases.empty(); }
  std::vector<uint8_t> section() const { return artifact::serialize(golden_); }

 private:
  // Calls evaluate(case, tick) for all cases; tick, called for each node, reports progress and stops.
  using Tick = std::function<Status()>;
  Status for_each_case(size_t node_count, const std::function<Status(size_t, const Tick&)>& evaluate);
  Status record_outputs(const graph::Graph& graph);

  RecorderOptions options_;
  std::vector<std::vector<graph::Tensor>> inputs_;  // of each case
  artifact::GoldenCases golden_;
};

}  // namespace tiffin::golden
