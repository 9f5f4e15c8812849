// SPDX-License-Identifier: Apache-2.0
// Resize with scales, sizes, axes, roi and keep_aspect_ratio_policy resolved to one entry per axis of the data.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// Coordinate modes use `scale` (output / input as ONNX defines it: a float32 of the model, or the quotient of the extents when sizes are
// given) and, for tf_crop_and_resize, the normalised roi. An axis that is not resized has scale 1 and roi [0, 1].
struct ResizeAxis {
  int64_t input = 0, output = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
};

// UnsupportedOperator when scales or sizes are no constants. Precondition: the data's shape is static.
Result<std::vector<ResizeAxis>> resize_of(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
