// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/slice_rule.h"

#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;
using Numbers = std::vector<int64_t>;

const graph::Shape& data_shape(const Graph& graph, const Node& node) { return *graph.value(node.inputs[0]).type.shape; }

Status expect_count(const Graph& graph, const Node& node, const char* what, size_t actual, size_t expected) {
  if (actual == expected) return {};
  return node_error(Code::InvalidModel, graph, node, "input '%s' has %zu elements, expected %zu (index_list.c1)", what, actual, expected);
}

// The axes that index lists of `count` entries speak of: input `index`, or the first `count` axes of the data.
Result<Numbers> listed_axes(const Graph& graph, const Node& node, size_t index, size_t count) {
  const auto rank = static_cast<int64_t>(data_shape(graph, node).size());
  Numbers axes;
  if (node.input(index) != graph::kNone) {
    TIFFIN_ASSIGN_OR_RETURN(axes, constant_ints(graph, node, index, "axes"));
    TIFFIN_TRY(expect_count(graph, node, "axes", axes.size(), count));
  } else {
    for (size_t axis = 0; axis < count; ++axis) axes.push_back(static_cast<int64_t>(axis));
  }
  return normalized_axes(graph, node, axes, rank);
}

// ONNX clamps starts and ends to the data; a negative step runs from the end down to -1.
SliceAxis clamp_slice(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  SliceAxis slice;
  slice.step = step;
  if (step > 0) {
    slice.start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    slice.extent = end > slice.start ? (end - slice.start - 1) / step + 1 : 0;
  } else {
    slice.start = extent == 0 ? -1 : std::clamp<int64_t>(start, 0, extent - 1);  // as ONNX says, and unlike numpy
    end = std::clamp<int64_t>(end, -1, extent - 1);
    // -(step + 1) / … keeps INT64_MIN from overflowing: magnitude - 1 is -(step + 1).
    const int64_t magnitude = step == INT64_MIN ? INT64_MAX : -step;
    slice.extent = slice.start > end ? (slice.start - end - 1) / magnitude + 1 : 0;
  }
  if (slice.extent == 0) slice.start = 0;
  return slice;
}

}  // namespace

Result<std::vector<SliceAxis>> slice_of(const Graph& graph, const Node& node) {
  const graph::Shape& shape = data_shape(graph, node);
  TIFFIN_ASSIGN_OR_RETURN(const Numbers starts, constant_ints(graph, node, 1, "starts"));
  TIFFIN_ASSIGN_OR_RETURN(const Numbers ends, constant_ints(graph, node, 2, "ends"));
  TIFFIN_TRY(expect_count(graph, node, "ends", ends.size(), starts.size()));
  if (starts.size() > shape.size()) TIFFIN_TRY(expect_count(graph, node, "starts", starts.size(), shape.size()));
  TIFFIN_ASSIGN_OR_RETURN(const Numbers axes, listed_axes(graph, node, 3, starts.size()));
  Numbers steps(starts.size(), 1);
  if (node.input(4) != graph::kNone) {
    TIFFIN_ASSIGN_OR_RETURN(steps, constant_ints(graph, node, 4, "steps"));
    TIFFIN_TRY(expect_count(graph, node, "steps", steps.size(), starts.size()));
  }
  std::vector<SliceAxis> out;
  for (const graph::Dim& dim : shape) out.push_back({0, 1, dim.value()});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0)
      return node_error(Code::InvalidModel, graph, node, "input 'steps' is %s, expected no 0 (slice.c1)", graph::to_string(steps).c_str());
    SliceAxis& axis = out[static_cast<size_t>(axes[i])];
    if (axis.extent >= 0) axis = clamp_slice(starts[i], ends[i], steps[i], axis.extent);
  }
  return out;
}

Result<std::vector<PadAxis>> pads_of(const Graph& graph, const Node& node) {
  const size_t rank = data_shape(graph, node).size();
  TIFFIN_ASSIGN_OR_RETURN(const Numbers pads, constant_ints(graph, node, 1, "pads"));
  TIFFIN_ASSIGN_OR_RETURN(const Numbers axes, listed_axes(graph, node, 3, node.input(3) != graph::kNone ? pads.size() / 2 : rank));
  TIFFIN_TRY(expect_count(graph, node, "pads", pads.size(), 2 * axes.size()));
  std::vector<PadAxis> out(rank);
  for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = {pads[i], pads[axes.size() + i]};
  return out;
}

Result<Numbers> split_sizes(const Graph& graph, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(graph, node, "axis", 0));
  const int64_t extent = data_shape(graph, node)[static_cast<size_t>(axis)].value();
  const auto count = static_cast<int64_t>(node.outputs.size());
  Numbers sizes;
  if (node.input(1) == graph::kNone) {
    const int64_t wanted = node.int_attribute("num_outputs", count);
    if (wanted != count) {
      return node_error(Code::InvalidModel, graph, node, "attribute 'num_outputs' is %lld, the node has %lld results (split.c1)",
                        static_cast<long long>(wanted), static_cast<long long>(count));
    }
    const int64_t part = (extent + count - 1) / count;  // the last result is smaller where the extent is no multiple
    for (int64_t i = 0; i < count; ++i) sizes.push_back(std::clamp<int64_t>(extent - i * part, 0, part));
    return sizes;
  }
  TIFFIN_ASSIGN_OR_RETURN(sizes, constant_ints(graph, node, 1, "split"));
  TIFFIN_TRY(expect_count(graph, node, "split", sizes.size(), node.outputs.size()));
  int64_t sum = 0;
  bool is_sound = true;
  for (const int64_t size : sizes) is_sound = is_sound && size >= 0 && !__builtin_add_overflow(sum, size, &sum);
  if (is_sound && (extent < 0 || sum == extent)) return sizes;
  return node_error(Code::ShapeMismatch, graph, node, "input 'split' is %s, expected sizes that sum to %lld, axis %lld of %s (split.c2)",
                    graph::to_string(sizes).c_str(), static_cast<long long>(extent), static_cast<long long>(axis),
                    to_string(data_shape(graph, node)).c_str());
}

Result<Numbers> reshape_target(const Graph& graph, const Node& node) {
  const graph::Type& data = graph.value(node.inputs[0]).type;
  TIFFIN_ASSIGN_OR_RETURN(Numbers target, constant_ints(graph, node, 1, "shape"));
  const Numbers wanted = target;
  const bool zero_is_extent = node.int_attribute("allowzero", 0) != 0;
  const Numbers source = data.static_shape();
  const auto mismatch = [&](const char* rule) {
    return node_error(Code::ShapeMismatch, graph, node, "%s cannot take shape %s (%s)", graph::to_string(data).c_str(),
                      graph::to_string(wanted).c_str(), rule);
  };
  int64_t known = 1;
  size_t open = target.size();
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !zero_is_extent) {
      if (i >= source.size()) return mismatch("reshape.c1");
      target[i] = source[i];
    }
    if (target[i] < -1 || (target[i] == -1 && open != target.size())) return mismatch("reshape.c2");
    if (target[i] == -1) open = i;
    if (target[i] >= 0 && (known = multiply_extents(known, target[i])) < 0) return mismatch("reshape.c3");
  }
  const int64_t count = graph::num_elements(source);
  if (open == target.size()) return known == count ? Result<Numbers>(std::move(target)) : Result<Numbers>(mismatch("reshape.c4"));
  if (known == 0 || count % known != 0) return mismatch("reshape.c5");
  target[open] = count / known;
  return target;
}

}  // namespace tiffin::ops
