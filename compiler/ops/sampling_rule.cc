// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/sampling_rule.h"

namespace tiffin::ops {

GridSampling grid_sampling_of(const graph::Node& node) {
  GridSampling sampling;
  const std::string mode = node.string_attribute("mode", "linear"), padding = node.string_attribute("padding_mode", "zeros");
  sampling.mode = mode == "nearest" ? SampleMode::Nearest : mode == "cubic" ? SampleMode::Cubic : SampleMode::Linear;
  sampling.padding = padding == "border" ? SamplePadding::Border : padding == "reflection" ? SamplePadding::Reflection : SamplePadding::Zeros;
  sampling.aligns_corners = node.int_attribute("align_corners", 0) != 0;
  return sampling;
}

RegionSampling region_sampling_of(const graph::Node& node) {
  RegionSampling sampling;
  sampling.scale = node.float_attribute("spatial_scale", 1);
  sampling.offset = node.string_attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel" ? 0.5 : 0;
  sampling.samples = node.int_attribute("sampling_ratio", 0);
  sampling.takes_maximum = node.string_attribute("mode", "avg") == "max";
  return sampling;
}

}  // namespace tiffin::ops
