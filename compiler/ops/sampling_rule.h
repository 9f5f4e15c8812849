// SPDX-License-Identifier: Apache-2.0
// The attributes of GridSample and RoiAlign as reference and kernels read them. Inference has checked their words.
#pragma once

#include "compiler/graph/graph.h"

namespace tiffin::ops {

enum class SampleMode : uint8_t { Nearest, Linear, Cubic };
enum class SamplePadding : uint8_t { Zeros, Border, Reflection };

// The grid's -1 and 1 are the centres of the first and last pixel (`aligns_corners`) or their outer edges. Cubic weights have a = -0.75 (R. Keys).
struct GridSampling {
  SampleMode mode = SampleMode::Linear;
  SamplePadding padding = SamplePadding::Zeros;
  bool aligns_corners = false;
};

GridSampling grid_sampling_of(const graph::Node& node);

// A region's corners times `scale`, minus `offset`, are positions in pixels; a bin is sampled `samples` times along each axis, 0 for once a pixel.
// Without an offset regions are at least one pixel long.
struct RegionSampling {
  double scale = 1, offset = 0.5;
  int64_t samples = 0;
  bool takes_maximum = false;  // of the weighted neighbours; else the mean of the samples
};

RegionSampling region_sampling_of(const graph::Node& node);

}  // namespace tiffin::ops
