// SPDX-License-Identifier: Apache-2.0
// Inference of convolutions. x: [N, C, spatial...]; w: [M, C / group, kernel...], transposed: [C, M / group, kernel...]; y: [N, M, spatial...].
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/ops/window.h"

namespace tiffin::ops {
namespace {

using graph::Dim;
using graph::Op;
using graph::Shape;

struct Operands {
  size_t weight = 1;
  std::optional<size_t> bias;
  DType result = DType::Undefined;
};

Operands operands_of(const Inference& inference) {
  switch (inference.node().op) {
    case Op::ConvInteger:
      return {1, std::nullopt, DType::Int32};
    case Op::QLinearConv:
      return {3, 8, inference.dtype(7)};
    default:
      return {1, 2, inference.dtype(0)};
  }
}

Status expect_channels(const Inference& inference, const Operands& operands, size_t weight_axis, int64_t multiplier) {
  const Dim& channels = inference.dim(0, 1);
  const Dim& of_weight = inference.dim(operands.weight, weight_axis);
  if (!channels.is_static() || !of_weight.is_static()) return {};
  if (channels.value() == multiply_extents(of_weight.value(), multiplier)) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(),
                    "input is %s, weight is %s in %lld groups: the channels differ (conv.c1)", graph::to_string(inference.type(0)).c_str(),
                    graph::to_string(inference.type(operands.weight)).c_str(), static_cast<long long>(inference.node().int_attribute("group", 1)));
}

// `divided`: the extent that the groups share out.
Status expect_group_divides(const Inference& inference, const Dim& divided, int64_t group) {
  if (!divided.is_static() || divided.value() % group == 0) return {};
  return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                    "attribute 'group' is %lld, expected a divisor of %lld channels (conv.c2)", static_cast<long long>(group),
                    static_cast<long long>(divided.value()));
}

Status expect_bias(const Inference& inference, const Operands& operands, const Dim& channels) {
  if (!operands.bias || !inference.has_input(*operands.bias) || !inference.has_rank(*operands.bias)) return {};
  TIFFIN_TRY(expect_rank(inference, *operands.bias, 1, "conv.c3"));
  return expect_dim(inference, *operands.bias, 0, channels, "conv.c3");
}

// Scales and zero points of QLinearConv: scalars, of the weight also one for each channel.
Status expect_quantization(const Inference& inference, const Dim& channels) {
  for (const size_t input : {size_t{1}, size_t{2}, size_t{4}, size_t{5}, size_t{6}, size_t{7}}) {
    if (!inference.has_rank(input) || inference.rank(input) == 0) continue;
    TIFFIN_TRY(expect_rank(inference, input, 1, "conv.c4"));
    const bool is_weight = input == 4 || input == 5;
    if (inference.dim(input, 0) == Dim(1)) continue;
    TIFFIN_TRY(expect_dim(inference, input, 0, is_weight ? channels : Dim(1), "conv.c4"));
  }
  return {};
}

void append_spatial(const Inference& inference, const Window& window, Shape* shape) {
  for (const int64_t extent : window.output) shape->push_back(inference.dim_or_fresh(extent, 0, shape->size()));
}

}  // namespace

Status infer_convolution(Inference& inference) {
  const Operands operands = operands_of(inference);
  const bool has_weight = inference.has_rank(operands.weight);
  if (!inference.has_rank(0)) return inference.set(0, operands.result, std::nullopt);
  const bool has_kernel = inference.type(operands.weight).has_static_shape() || !inference.node().ints_attribute("kernel_shape").empty();
  if (!has_kernel) return inference.set(0, operands.result, inference.fresh_shape(0, inference.rank(0)));
  TIFFIN_ASSIGN_OR_RETURN(const Window window, window_of(inference.graph(), inference.node()));
  Dim channels = inference.fresh_dim(0, 1);
  if (has_weight) {
    channels = inference.dim(operands.weight, 0);
    TIFFIN_TRY(expect_channels(inference, operands, 1, window.group));
    TIFFIN_TRY(expect_group_divides(inference, channels, window.group));
    TIFFIN_TRY(expect_bias(inference, operands, channels));
    if (inference.node().op == Op::QLinearConv) TIFFIN_TRY(expect_quantization(inference, channels));
  }
  Shape shape = {inference.dim(0, 0), channels};
  append_spatial(inference, window, &shape);
  return inference.set(0, operands.result, std::move(shape));
}

Status infer_transposed_convolution(Inference& inference) {
  const Operands operands = operands_of(inference);
  if (!inference.has_rank(0)) return inference.set(0, operands.result, std::nullopt);
  const bool has_kernel = inference.type(1).has_static_shape() || !inference.node().ints_attribute("kernel_shape").empty();
  if (!has_kernel) return inference.set(0, operands.result, inference.fresh_shape(0, inference.rank(0)));
  TIFFIN_ASSIGN_OR_RETURN(const Window window, window_of(inference.graph(), inference.node()));
  Dim channels = inference.fresh_dim(0, 1);
  if (inference.has_rank(1)) {
    const Dim& of_weight = inference.dim(1, 1);
    channels = inference.dim_or_fresh(of_weight.is_static() ? multiply_extents(of_weight.value(), window.group) : -1, 0, 1);
    TIFFIN_TRY(expect_channels(inference, operands, 0, 1));
    TIFFIN_TRY(expect_group_divides(inference, inference.dim(0, 1), window.group));
    TIFFIN_TRY(expect_bias(inference, operands, channels));
  }
  Shape shape = {inference.dim(0, 0), channels};
  append_spatial(inference, window, &shape);
  return inference.set(0, operands.result, std::move(shape));
}

namespace {

// panels: [ceil(channels / 16), kernel..., input channels, 16], without the input channels of a depthwise convolution.
Status expect_panels(const Inference& inference, const Window& window, int64_t channels) {
  if (!inference.has_rank(1)) return {};
  const bool is_depthwise = inference.node().op == Op::BlockedDepthwiseConv;
  TIFFIN_TRY(expect_rank(inference, 1, window.spatial_rank() + (is_depthwise ? 2 : 3), "blocked.c3"));
  TIFFIN_TRY(expect_dim(inference, 1, 0, panel_count(channels), "blocked.c4"));
  for (size_t axis = 0; axis < window.spatial_rank(); ++axis) TIFFIN_TRY(expect_dim(inference, 1, axis + 1, window.kernel[axis], "blocked.c5"));
  return expect_dim(inference, 1, inference.rank(1) - 1, kPanelColumns, "blocked.c6");
}

// With `transposed` every pixel becomes kernel[0] x kernel[1] pixels (a ConvTranspose whose windows do not overlap).
// x: [N, ceil(C / block), spatial..., block] or plain [N, C, spatial...]; y: [N, ceil(channels / block), spatial..., block]
Status set_blocked(Inference& inference, int64_t channels) {
  const int64_t block = inference.node().int_attribute("block", 0);
  if (block < 1 || channels < 1) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attributes 'block' and 'channels' are %lld and %lld, expected 1 or more (blocked.c1)", static_cast<long long>(block),
                      static_cast<long long>(channels));
  }
  if (!inference.has_rank(0)) return inference.set(0, inference.dtype(0), std::nullopt);
  TIFFIN_ASSIGN_OR_RETURN(const Window window, window_of(inference.graph(), inference.node()));
  const bool is_plain = inference.rank(0) == window.spatial_rank() + 2;
  if (!is_plain) TIFFIN_TRY(expect_dim(inference, 0, inference.rank(0) - 1, block, "blocked.c2"));
  TIFFIN_TRY(expect_panels(inference, window, channels));
  Shape shape = {inference.dim(0, 0), Dim((channels + block - 1) / block)};
  if (inference.node().int_attribute("transposed", 0) != 0) {
    for (size_t axis = 0; axis < window.spatial_rank(); ++axis) {
      const Dim& extent = inference.dim(0, axis + 2);
      shape.push_back(inference.dim_or_fresh(extent.is_static() ? multiply_extents(extent.value(), window.kernel[axis]) : -1, 0, axis + 2));
    }
  } else {
    append_spatial(inference, window, &shape);
  }
  shape.emplace_back(block);
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace

Status infer_blocked_convolution(Inference& inference) { return set_blocked(inference, inference.node().int_attribute("channels", 0)); }

Status infer_blocked_depthwise_convolution(Inference& inference) { return set_blocked(inference, inference.node().int_attribute("channels", 0)); }

}  // namespace tiffin::ops
