// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM with layout, direction, activations and extents resolved.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// What one gate function of one direction is: the name and its two parameters (ONNX's defaults filled in).
struct GateActivation {
  std::string name;  // "Sigmoid", "Tanh", "Relu", …
  double alpha = 0, beta = 0;
};

struct Recurrence {
  int64_t steps = -1, batch = -1, input = -1, hidden = -1;  // -1 when unknown
  int gates = 1;                                            // 1 RNN, 3 GRU, 4 LSTM
  int directions = 1;
  bool is_reverse = false;                  // direction "reverse": the only direction runs backwards; "bidirectional": the second one does
  bool is_batch_first = false;              // layout 1
  std::vector<GateActivation> activations;  // per direction: RNN f; GRU f, g; LSTM f, g, h
  bool has_clip = false;
  double clip = 0;
};

// InvalidModel for bad attributes and ranks, ShapeMismatch for extents that differ. Precondition: the rank of X, W and R is known.
Result<Recurrence> recurrence_of(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
