// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/resize_rule.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;

constexpr double kMaxExtent = 1099511627776.0;  // 2^40: beyond is damage

bool is_given(const Graph& graph, const Node& node, size_t index) {
  if (node.input(index) == graph::kNone) return false;
  // Exporters pass an empty tensor for an input that is absent.
  const graph::Type& type = graph.value(node.inputs[index]).type;
  return !(type.has_static_shape() && type.rank() == 1 && type.num_elements() == 0);
}

Result<std::vector<double>> constant_floats(const Graph& graph, const Node& node, size_t index, const char* what, size_t count) {
  const graph::Tensor* tensor = graph.tensor_of(node.input(index));
  if (tensor == nullptr) {
    return node_error(Code::UnsupportedOperator, graph, node, "input '%s' is computed at run time, expected a constant (constant.c1)", what);
  }
  if (tensor->num_elements() != static_cast<int64_t>(count)) {
    return node_error(Code::InvalidModel, graph, node, "input '%s' is %s, expected %zu elements (resize.c1)", what,
                      graph::to_string(tensor->type()).c_str(), count);
  }
  return tensor->to_doubles();
}

Status apply_scales(const Graph& graph, const Node& node, const std::vector<int64_t>& axes, std::vector<ResizeAxis>* out) {
  TIFFIN_ASSIGN_OR_RETURN(const auto scales, constant_floats(graph, node, 2, "scales", axes.size()));
  const bool is_cropped = node.string_attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = (*out)[static_cast<size_t>(axes[i])];
    axis.scale = scales[i];
    const double part = is_cropped ? axis.roi_end - axis.roi_begin : 1.0;
    const double extent = std::floor(static_cast<double>(axis.input) * part * axis.scale);
    if (!(axis.scale > 0) || !(extent >= 0 && extent < kMaxExtent)) {
      return node_error(Code::InvalidModel, graph, node,
                        "input 'scales' is %g at axis %lld, expected a positive number that gives an extent (resize.c2)", axis.scale,
                        static_cast<long long>(axes[i]));
    }
    axis.output = static_cast<int64_t>(extent);
  }
  return {};
}

// not_larger and not_smaller use one scale for all axes, the smallest or the largest.
Status apply_sizes(const Graph& graph, const Node& node, const std::vector<int64_t>& axes, std::vector<ResizeAxis>* out) {
  TIFFIN_ASSIGN_OR_RETURN(const auto sizes, constant_ints(graph, node, 3, "sizes"));
  const std::string policy = node.string_attribute("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return node_error(Code::InvalidModel, graph, node,
                      "attribute 'keep_aspect_ratio_policy' is '%s', expected stretch, not_larger or not_smaller (resize.c3)", policy.c_str());
  }
  if (sizes.size() != axes.size() || std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    return node_error(Code::InvalidModel, graph, node, "input 'sizes' is %s, expected %zu numbers of 0 or more (resize.c4)",
                      graph::to_string(sizes).c_str(), axes.size());
  }
  double uniform = policy == "not_larger" ? HUGE_VAL : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = (*out)[static_cast<size_t>(axes[i])];
    axis.output = sizes[i];
    axis.scale = axis.input > 0 ? static_cast<double>(sizes[i]) / static_cast<double>(axis.input) : 1;
    uniform = policy == "not_larger" ? std::min(uniform, axis.scale) : std::max(uniform, axis.scale);
  }
  if (policy == "stretch") return {};
  for (const int64_t index : axes) {
    ResizeAxis& axis = (*out)[static_cast<size_t>(index)];
    axis.scale = uniform;
    const double extent = std::floor(uniform * static_cast<double>(axis.input) + 0.5);
    if (!(extent < kMaxExtent)) {
      return node_error(Code::InvalidModel, graph, node, "input 'sizes' is %s, which gives no extent (resize.c5)", graph::to_string(sizes).c_str());
    }
    axis.output = static_cast<int64_t>(extent);
  }
  return {};
}

Status apply_roi(const Graph& graph, const Node& node, const std::vector<int64_t>& axes, std::vector<ResizeAxis>* out) {
  if (node.string_attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize") return {};
  if (!is_given(graph, node, 1)) {
    return node_error(Code::InvalidModel, graph, node, "input 'roi' is missing, expected one with mode tf_crop_and_resize (resize.c6)");
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto roi, constant_floats(graph, node, 1, "roi", 2 * axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = (*out)[static_cast<size_t>(axes[i])];
    axis.roi_begin = roi[i];
    axis.roi_end = roi[axes.size() + i];
  }
  return {};
}

}  // namespace

Result<std::vector<ResizeAxis>> resize_of(const Graph& graph, const Node& node) {
  const graph::Shape& shape = *graph.value(node.inputs[0]).type.shape;
  std::vector<ResizeAxis> out;
  for (const graph::Dim& dim : shape) out.push_back({dim.value(), dim.value(), 1, 0, 1});
  std::vector<int64_t> named = node.ints_attribute("axes");
  if (!node.has_attribute("axes")) {
    for (size_t axis = 0; axis < shape.size(); ++axis) named.push_back(static_cast<int64_t>(axis));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto axes, normalized_axes(graph, node, named, static_cast<int64_t>(shape.size())));
  const bool has_scales = is_given(graph, node, 2);
  const bool has_sizes = is_given(graph, node, 3);
  if (has_scales == has_sizes) {
    return node_error(Code::InvalidModel, graph, node, "%s of 'scales' and 'sizes' are given, expected one (resize.c7)",
                      has_scales ? "both" : "none");
  }
  TIFFIN_TRY(apply_roi(graph, node, axes, &out));
  TIFFIN_TRY(has_scales ? apply_scales(graph, node, axes, &out) : apply_sizes(graph, node, axes, &out));
  return out;
}

}  // namespace tiffin::ops
