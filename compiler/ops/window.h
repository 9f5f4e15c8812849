// SPDX-License-Identifier: Apache-2.0
// The sliding window of convolutions and pools with every attribute resolved (auto_pad, ceil_mode, output_shape, defaults).
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// Vectors have one entry for each spatial axis.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads_begin, pads_end;  // ConvTranspose: what is cut from the full result
  std::vector<int64_t> output_padding;        // ConvTranspose only
  std::vector<int64_t> input, output;         // spatial extents; -1 when unknown
  int64_t group = 1;

  size_t spatial_rank() const { return kernel.size(); }
  // Extent of the dilated kernel along an axis.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

// Of Conv, ConvInteger, QLinearConv, ConvTranspose, AveragePool, MaxPool, LpPool, GlobalAveragePool, GlobalMaxPool and the Blocked* forms. With
// ceil_mode the last window may reach beyond the padded input. Pads are never negative. InvalidModel or ShapeMismatch as infer_node.
// Where a spatial extent is unknown, output is -1 and the pads of auto_pad are 0. Precondition: the rank of input 0 is known.
Result<Window> window_of(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
