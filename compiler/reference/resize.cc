// SPDX-License-Identifier: Apache-2.0
// Resize: nearest, linear and cubic interpolation, one axis after another, as ONNX's separable definition.
#include <algorithm>
#include <cmath>

#include "compiler/ops/resize_rule.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

struct Rule {
  std::string mode, coordinates, nearest;
  double cubic_coefficient = -0.75, extrapolation = 0;
  bool excludes_outside = false, is_antialiased = false;
};

Rule rule_of(const Node& node) {
  return {node.string_attribute("mode", "nearest"),
          node.string_attribute("coordinate_transformation_mode", "half_pixel"),
          node.string_attribute("nearest_mode", "round_prefer_floor"),
          node.float_attribute("cubic_coeff_a", -0.75),
          node.float_attribute("extrapolation_value", 0),
          node.int_attribute("exclude_outside", 0) != 0,
          node.int_attribute("antialias", 0) != 0};
}

// Where output position x lies in the input.
double source_coordinate(const Rule& rule, const ops::ResizeAxis& axis, int64_t position) {
  const auto x = static_cast<double>(position), in = static_cast<double>(axis.input), out = static_cast<double>(axis.output);
  if (rule.coordinates == "align_corners") return axis.output == 1 ? 0 : x * (in - 1) / (out - 1);
  if (rule.coordinates == "asymmetric") return x / axis.scale;
  if (rule.coordinates == "pytorch_half_pixel") return axis.output == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (rule.coordinates == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);  // the extent that the scale would give against the one it is rounded to
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (rule.coordinates == "tf_crop_and_resize") {
    if (axis.output == 1) return 0.5 * (axis.roi_begin + axis.roi_end) * (in - 1);
    return axis.roi_begin * (in - 1) + x * (axis.roi_end - axis.roi_begin) * (in - 1) / (out - 1);
  }
  return (x + 0.5) / axis.scale - 0.5;
}

int64_t nearest_position(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

// One weighted input position; positions outside stand for the border's element.
struct Tap {
  int64_t position;
  double weight;
};

double kernel_weight(const Rule& rule, double distance) {
  if (rule.mode == "cubic") return cubic_weight(distance, rule.cubic_coefficient);
  return std::fmax(0, 1 - std::fabs(distance));
}

std::vector<Tap> taps_of(const Rule& rule, const ops::ResizeAxis& axis, double x) {
  if (rule.mode == "nearest") return {{std::clamp<int64_t>(nearest_position(rule.nearest, x), 0, axis.input - 1), 1}};
  // Downsampling with antialias stretches the kernel over all inputs that an output covers.
  const double stretch = rule.is_antialiased && axis.scale < 1 ? axis.scale : 1;
  const double radius = (rule.mode == "cubic" ? 2 : 1) / stretch;
  std::vector<Tap> taps;
  double sum = 0;
  for (auto position = static_cast<int64_t>(std::floor(x - radius)) + 1; static_cast<double>(position) < x + radius; ++position) {
    const bool is_outside = position < 0 || position >= axis.input;
    const double weight = is_outside && rule.excludes_outside ? 0 : kernel_weight(rule, (static_cast<double>(position) - x) * stretch);
    taps.push_back({std::clamp<int64_t>(position, 0, axis.input - 1), weight});
    sum += weight;
  }
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

// One axis of `shape` resampled; a coordinate outside the input is marked in `outside` (tf_crop_and_resize).
std::vector<double> resample(const std::vector<double>& x, const std::vector<int64_t>& shape, size_t axis, const ops::ResizeAxis& extent,
                             const Rule& rule) {
  const AxisView view = view_at_axis(shape, static_cast<int64_t>(axis));
  const AxisView result{view.outer, extent.output, view.inner};
  std::vector<double> out(static_cast<size_t>(view.outer * extent.output * view.inner));
  for (int64_t position = 0; position < extent.output; ++position) {
    const double source = source_coordinate(rule, extent, position);
    const bool is_extrapolated = rule.coordinates == "tf_crop_and_resize" && (source < 0 || source > static_cast<double>(extent.input - 1));
    const std::vector<Tap> taps = taps_of(rule, extent, source);
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      double sum = is_extrapolated ? rule.extrapolation : 0;
      for (const Tap& tap : taps) {
        if (!is_extrapolated) sum += tap.weight * x[static_cast<size_t>(view.at(row / view.inner, tap.position, row % view.inner))];
      }
      out[static_cast<size_t>(result.at(row / view.inner, position, row % view.inner))] = sum;
    }
  }
  return out;
}

}  // namespace

Result<Tensors> evaluate_resize(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<ops::ResizeAxis> axes, ops::resize_of(e.graph, e.node));
  const Rule rule = rule_of(e.node);
  if (!visit_number(x.dtype(), [](auto) {})) return e.unsupported_type(x.dtype());
  std::vector<double> values = x.to_doubles();
  std::vector<int64_t> shape = x.shape();
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const bool is_whole = axes[axis].roi_begin == 0 && axes[axis].roi_end == 1;
    if (axes[axis].input == axes[axis].output && axes[axis].scale == 1 && is_whole) continue;
    values = resample(values, shape, axis, axes[axis], rule);
    shape[axis] = axes[axis].output;
  }
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (const double value : values) elements.push_back(static_cast<T>(std::is_integral_v<T> ? std::trunc(value) : value));
    out.push_back(store(x.dtype(), shape, elements));
  });
  return out;
}

}  // namespace tiffin::reference
