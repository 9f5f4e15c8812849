// SPDX-License-Identifier: Apache-2.0
// Slice, Pad, Split, Tile and Expand with their index inputs resolved to one entry per axis of the data.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// Element k of the result along an axis is element start + k * step of the data, 0 <= k < extent. The step may be negative.
struct SliceAxis {
  int64_t start = 0, step = 1, extent = 0;
};

// One entry for each axis of the data. UnsupportedOperator when starts, ends, axes or steps are no constants. Precondition: the data's shape
// is static.
Result<std::vector<SliceAxis>> slice_of(const graph::Graph& graph, const graph::Node& node);

// Elements added (negative: removed) before and after each axis of the data.
struct PadAxis {
  int64_t begin = 0, end = 0;
};
Result<std::vector<PadAxis>> pads_of(const graph::Graph& graph, const graph::Node& node);

// The extents of Split's results along its axis; their sum is the data's extent. Precondition: that extent is static.
Result<std::vector<int64_t>> split_sizes(const graph::Graph& graph, const graph::Node& node);

// The shape Reshape gives: -1 and 0 resolved. Precondition: the data's shape is static.
Result<std::vector<int64_t>> reshape_target(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
