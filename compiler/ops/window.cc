// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/window.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;
using Extents = std::vector<int64_t>;

// Extents, strides and pads above this are taken for damage; products of three such values still fit an int64.
constexpr int64_t kMaxExtent = int64_t{1} << 40;

bool is_blocked(Op op) { return op == Op::BlockedConv || op == Op::BlockedDepthwiseConv; }
bool is_global(Op op) { return op == Op::GlobalAveragePool || op == Op::GlobalMaxPool; }
bool is_pool(Op op) { return op == Op::AveragePool || op == Op::MaxPool || op == Op::LpPool; }

size_t weight_index(Op op) { return op == Op::QLinearConv ? 3 : 1; }

Extents spatial_extents(const graph::Shape& shape, size_t begin, size_t count) {
  Extents out;
  for (size_t i = begin; i < begin + count; ++i) out.push_back(shape[i].value());
  return out;
}

// An ints attribute with one entry for each axis, each in [lowest, kMaxExtent].
Status read_list(const Graph& graph, const Node& node, const char* key, size_t count, int64_t otherwise, int64_t lowest, Extents* out) {
  *out = node.ints_attribute(key);
  if (out->empty()) out->assign(count, otherwise);
  const bool is_in_range = std::all_of(out->begin(), out->end(), [&](int64_t value) { return value >= lowest && value <= kMaxExtent; });
  if (out->size() == count && is_in_range) return {};
  return node_error(Code::InvalidModel, graph, node, "attribute '%s' is %s, expected %zu numbers, each %lld or more (window.c1)", key,
                    graph::to_string(*out).c_str(), count, static_cast<long long>(lowest));
}

Status read_kernel(const Graph& graph, const Node& node, size_t spatial, Window* window) {
  if (is_global(node.op)) {
    window->kernel = window->input;
    for (int64_t& extent : window->kernel) extent = std::max<int64_t>(extent, 1);
    return {};
  }
  const Extents attribute = node.ints_attribute("kernel_shape");
  if (is_pool(node.op) || is_blocked(node.op)) return read_list(graph, node, "kernel_shape", spatial, 1, 1, &window->kernel);
  const graph::Type& weight = graph.value(node.inputs[weight_index(node.op)]).type;
  if (weight.has_rank() && weight.rank() != spatial + 2) {
    return node_error(Code::ShapeMismatch, graph, node, "weight is %s, expected rank %zu (window.c2)", graph::to_string(weight).c_str(), spatial + 2);
  }
  if (weight.has_rank()) window->kernel = spatial_extents(*weight.shape, 2, spatial);
  if (attribute.empty() && weight.has_static_shape()) {
    const bool is_positive = std::all_of(window->kernel.begin(), window->kernel.end(), [](int64_t extent) { return extent > 0; });
    if (is_positive) return {};
    return node_error(Code::InvalidModel, graph, node, "weight is %s, whose kernel is empty (window.c3)", graph::to_string(weight).c_str());
  }
  if (attribute.empty()) {
    return node_error(Code::UnsupportedOperator, graph, node, "the weight's shape is not known and there is no 'kernel_shape' (window.c4)");
  }
  const Extents of_weight = window->kernel;
  TIFFIN_TRY(read_list(graph, node, "kernel_shape", spatial, 1, 1, &window->kernel));
  for (size_t i = 0; i < of_weight.size(); ++i) {
    if (of_weight[i] < 0 || of_weight[i] == window->kernel[i]) continue;
    return node_error(Code::ShapeMismatch, graph, node, "attribute 'kernel_shape' is %s, the weight is %s (window.c5)",
                      graph::to_string(window->kernel).c_str(), graph::to_string(weight).c_str());
  }
  return {};
}

Status read_pads(const Graph& graph, const Node& node, Window* window) {
  const size_t spatial = window->spatial_rank();
  Extents pads;
  TIFFIN_TRY(read_list(graph, node, "pads", 2 * spatial, 0, 0, &pads));
  window->pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  window->pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  return {};
}

// SAME_UPPER and SAME_LOWER: ceil(input / stride) windows; the odd element goes to the end or to the beginning.
void pad_same(Window* window, size_t axis, bool is_lower) {
  const int64_t input = window->input[axis];
  const int64_t stride = window->strides[axis];
  if (input < 0) return;
  const int64_t output = (input + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((output - 1) * stride + window->reach(axis) - input, 0);
  window->pads_begin[axis] = is_lower ? (total + 1) / 2 : total / 2;
  window->pads_end[axis] = total - window->pads_begin[axis];
}

Status resolve_auto_pad(const Graph& graph, const Node& node, Window* window) {
  const std::string mode = node.string_attribute("auto_pad", "NOTSET");
  if (mode.empty() || mode == "NOTSET") return read_pads(graph, node, window);
  window->pads_begin.assign(window->spatial_rank(), 0);
  window->pads_end.assign(window->spatial_rank(), 0);
  if (mode == "VALID") return {};
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return node_error(Code::InvalidModel, graph, node, "attribute 'auto_pad' is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER (window.c6)",
                      mode.c_str());
  }
  for (size_t axis = 0; axis < window->spatial_rank(); ++axis) pad_same(window, axis, mode == "SAME_LOWER");
  return {};
}

// Number of windows along an axis; -1 when the input's extent is unknown.
int64_t count_windows(const Window& window, size_t axis, bool is_ceil) {
  if (window.input[axis] < 0) return -1;
  const int64_t stride = window.strides[axis];
  const int64_t padded = window.input[axis] + window.pads_begin[axis] + window.pads_end[axis];
  const int64_t room = padded - window.reach(axis);
  if (room < 0) return is_ceil && room + stride > 0 ? 1 : 0;
  int64_t count = (is_ceil ? (room + stride - 1) / stride : room / stride) + 1;
  // A window that begins in the padding after the input reads nothing and does not count.
  if (is_ceil && (count - 1) * stride >= window.input[axis] + window.pads_begin[axis]) --count;
  return count;
}

Status resolve_forward(const Graph& graph, const Node& node, Window* window) {
  TIFFIN_TRY(resolve_auto_pad(graph, node, window));
  const bool is_ceil = node.int_attribute("ceil_mode", 0) != 0;
  for (size_t axis = 0; axis < window->spatial_rank(); ++axis) {
    window->output.push_back(count_windows(*window, axis, is_ceil));
    if (window->output.back() != 0 || window->input[axis] == 0) continue;
    return node_error(Code::ShapeMismatch, graph, node,
                      "the kernel reaches over %lld elements at spatial axis %zu, the padded input has %lld (window.c7)",
                      static_cast<long long>(window->reach(axis)), axis,
                      static_cast<long long>(window->input[axis] + window->pads_begin[axis] + window->pads_end[axis]));
  }
  return {};
}

// ConvTranspose: the full result has stride * (input - 1) + reach + output_padding elements, of which the pads are cut.
Status resolve_transposed(const Graph& graph, const Node& node, Window* window) {
  const size_t spatial = window->spatial_rank();
  TIFFIN_TRY(read_list(graph, node, "output_padding", spatial, 0, 0, &window->output_padding));
  const Extents wanted = node.ints_attribute("output_shape");
  const std::string mode = node.string_attribute("auto_pad", "NOTSET");
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (wanted.empty() && !is_same) TIFFIN_TRY(resolve_auto_pad(graph, node, window));
  if (!wanted.empty()) TIFFIN_TRY(read_list(graph, node, "output_shape", spatial, 0, 0, &window->output));
  if (wanted.empty() && !is_same) window->output.assign(spatial, -1);
  if (!wanted.empty() || is_same) {
    window->pads_begin.assign(spatial, 0);
    window->pads_end.assign(spatial, 0);
  }
  for (size_t axis = 0; axis < spatial; ++axis) {
    const int64_t input = window->input[axis];
    if (wanted.empty() && is_same) window->output.push_back(input < 0 ? -1 : input * window->strides[axis]);
    if (input < 0) continue;
    const int64_t full = window->strides[axis] * (input - 1) + window->reach(axis) + window->output_padding[axis];
    if (!wanted.empty() || is_same) {
      // More elements than the full result has: the missing ones are appended as zeros.
      const int64_t total = std::max<int64_t>(full - window->output[axis], 0);
      window->output_padding[axis] += std::max<int64_t>(window->output[axis] - full, 0);
      window->pads_begin[axis] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      window->pads_end[axis] = total - window->pads_begin[axis];
    } else {
      window->output[axis] = full - window->pads_begin[axis] - window->pads_end[axis];
    }
    if (window->output[axis] > 0 || input == 0) continue;
    return node_error(Code::ShapeMismatch, graph, node, "pads cut all %lld elements at spatial axis %zu (window.c8)", static_cast<long long>(full),
                      axis);
  }
  for (int64_t& extent : window->output) extent = std::max<int64_t>(extent, -1);
  return {};
}

}  // namespace

Result<Window> window_of(const Graph& graph, const Node& node) {
  const graph::Type& data = graph.value(node.inputs[0]).type;
  // A blocked operator's kernel tells how many axes are spatial: BlockedConv also reads a plain image.
  const size_t blocked_spatial = node.ints_attribute("kernel_shape").size();
  const bool has_block_axis = is_blocked(node.op) && data.rank() == blocked_spatial + 3;
  const size_t channel_axes = has_block_axis ? 3 : 2;
  const bool has_axes = data.rank() >= channel_axes + (is_global(node.op) ? 0 : 1);
  if (!has_axes || (is_blocked(node.op) && data.rank() != blocked_spatial + channel_axes)) {
    return node_error(Code::ShapeMismatch, graph, node, "input 0 is %s, expected a batch, a channel and spatial axes (window.c9)",
                      graph::to_string(data).c_str());
  }
  const size_t spatial = data.rank() - channel_axes;
  Window window;
  window.input = spatial_extents(*data.shape, 2, spatial);
  for (const int64_t extent : window.input) {
    if (extent <= kMaxExtent) continue;
    return node_error(Code::InvalidModel, graph, node, "input 0 is %s, whose extents are beyond 2^40 (window.c10)", graph::to_string(data).c_str());
  }
  TIFFIN_TRY(read_kernel(graph, node, spatial, &window));
  if (is_global(node.op)) {
    window.strides.assign(spatial, 1);
    window.dilations = window.strides;
    window.pads_begin.assign(spatial, 0);
    window.pads_end = window.pads_begin;
    window.output.assign(spatial, 1);
    return window;
  }
  TIFFIN_TRY(read_list(graph, node, "strides", spatial, 1, 1, &window.strides));
  TIFFIN_TRY(read_list(graph, node, "dilations", spatial, 1, 1, &window.dilations));
  for (size_t axis = 0; axis < spatial; ++axis) {
    int64_t reach = 0;
    if (!__builtin_mul_overflow(window.kernel[axis], window.dilations[axis], &reach) && reach <= kMaxExtent) continue;
    return node_error(Code::InvalidModel, graph, node, "the dilated kernel reaches over more than 2^40 elements at spatial axis %zu (window.c11)",
                      axis);
  }
  window.group = node.int_attribute("group", 1);
  if (window.group < 1) {
    return node_error(Code::InvalidModel, graph, node, "attribute 'group' is %lld, expected 1 or more (window.c12)",
                      static_cast<long long>(window.group));
  }
  const bool is_transposed = node.op == Op::ConvTranspose || (is_blocked(node.op) && node.int_attribute("transposed", 0) != 0);
  TIFFIN_TRY(is_transposed ? resolve_transposed(graph, node, &window) : resolve_forward(graph, node, &window));
  return window;
}

}  // namespace tiffin::ops
