// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace tiffin::ops {
namespace {

struct Rule {
  std::string mode, coordinates, nearest;
  double cubic_coefficient = -0.75;
  bool excludes_outside = false, is_antialiased = false;
};

Rule rule_of(const graph::Node& node) {
  return {node.string_attribute("mode", "nearest"),
          node.string_attribute("coordinate_transformation_mode", "half_pixel"),
          node.string_attribute("nearest_mode", "round_prefer_floor"),
          node.float_attribute("cubic_coeff_a", -0.75),
          node.int_attribute("exclude_outside", 0) != 0,
          node.int_attribute("antialias", 0) != 0};
}

// Where output position x lies in the input. The resized extent that the formulas speak of is input * scale, unrounded.
double source_coordinate(const Rule& rule, const ResizeAxis& axis, int64_t position) {
  const auto x = static_cast<double>(position), in = static_cast<double>(axis.input);
  const double resized = in * axis.scale;
  if (rule.coordinates == "align_corners") return resized == 1 ? 0 : x * (in - 1) / (resized - 1);
  if (rule.coordinates == "asymmetric") return x / axis.scale;
  if (rule.coordinates == "pytorch_half_pixel") return resized == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (rule.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.output) / resized;
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (rule.coordinates == "tf_crop_and_resize") {
    if (resized == 1) return 0.5 * (axis.roi_begin + axis.roi_end) * (in - 1);
    return axis.roi_begin * (in - 1) + x * (axis.roi_end - axis.roi_begin) * (in - 1) / (resized - 1);
  }
  return (x + 0.5) / axis.scale - 0.5;
}

int64_t nearest_position(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

double kernel_weight(const Rule& rule, double distance) {
  if (rule.mode == "cubic") return cubic_weight(distance, rule.cubic_coefficient);
  return std::fmax(0, 1 - std::fabs(distance));
}

std::vector<ResizeTap> taps_at(const Rule& rule, const ResizeAxis& axis, double x) {
  const int64_t last = axis.input - 1;
  if (rule.mode == "nearest") return {{std::clamp<int64_t>(nearest_position(rule.nearest, x), 0, last), 1}};
  // Downsampling with antialias stretches the kernel over all inputs that an output covers.
  const double stretch = rule.is_antialiased && axis.scale < 1 ? axis.scale : 1;
  const double radius = (rule.mode == "cubic" ? 2 : 1) / stretch;
  std::vector<ResizeTap> taps;
  double sum = 0;
  for (auto position = static_cast<int64_t>(std::floor(x - radius)) + 1; static_cast<double>(position) < x + radius; ++position) {
    const bool is_outside = position < 0 || position > last;
    const double weight = is_outside && rule.excludes_outside ? 0 : kernel_weight(rule, (static_cast<double>(position) - x) * stretch);
    taps.push_back({std::clamp<int64_t>(position, 0, last), weight});
    sum += weight;
  }
  for (ResizeTap& tap : taps) tap.weight /= sum;
  return taps;
}

}  // namespace

std::vector<std::vector<ResizeTap>> resize_taps(const graph::Node& node, const ResizeAxis& axis) {
  const Rule rule = rule_of(node);
  std::vector<std::vector<ResizeTap>> taps(static_cast<size_t>(axis.output));
  for (size_t position = 0; position < taps.size(); ++position) {
    const double source = source_coordinate(rule, axis, static_cast<int64_t>(position));
    const bool is_outside = source < 0 || source > static_cast<double>(axis.input - 1);
    if (rule.coordinates == "tf_crop_and_resize" && is_outside) continue;
    taps[position] = taps_at(rule, axis, source);
  }
  return taps;
}

bool is_resize_identity(const ResizeAxis& axis) { return axis.input == axis.output && axis.scale == 1 && axis.roi_begin == 0 && axis.roi_end == 1; }

}  // namespace tiffin::ops
