// SPDX-License-Identifier: Apache-2.0
// Which input elements each output position of Resize reads along one axis, and with which weights: Resize is separable, so this is all of it.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/resize_rule.h"

namespace tiffin::ops {

// One weighted input position, inside the axis. Weights of an output position sum to 1; several taps may name the same position (the border).
struct ResizeTap {
  int64_t position = 0;
  double weight = 0;
};

// The taps of each output position along the axis; none for a position that takes the extrapolation value (tf_crop_and_resize).
// Precondition: the axis has input elements, or no output.
std::vector<std::vector<ResizeTap>> resize_taps(const graph::Node& node, const ResizeAxis& axis);

// True if the axis stays as it is.
bool is_resize_identity(const ResizeAxis& axis);

}  // namespace tiffin::ops
