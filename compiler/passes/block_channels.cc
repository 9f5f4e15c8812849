// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/block_channels.h"

#include <algorithm>
#include <map>

#include "compiler/ops/op_class.h"
#include "compiler/ops/window.h"
#include "compiler/passes/blocked_values.h"
#include "compiler/passes/pack_weights.h"
#include "compiler/passes/rewriter.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

// In topological order: (1) a convolution that tiles can compute becomes its blocked form; (2) an operator with a blocked operand that works on
// blocks as it is becomes that operator on blocked operands; (3) any other operator reads plain values, converted once each.
class BlockChannels {
 public:
  BlockChannels(Graph& graph, int64_t block) : graph_(graph), users_(graph.build_users()), values_(graph, block), block_(block) {}

  Status run() {
    for (const NodeId id : graph_.topological_order()) {
      Rewriter rewriter(graph_, id);
      const ValueId blocked = rewrite(rewriter);
      if (blocked != kNone) {
        values_.set_blocked(graph_.node(id).outputs[0], blocked);
      } else {
        for (ValueId& input : graph_.node(id).inputs) input = input == kNone ? kNone : values_.plain(rewriter, input);
      }
      TIFFIN_TRY(rewriter.take_status());
    }
    return values_.replace_outputs();
  }

 private:
  ValueId rewrite(Rewriter& rewriter);
  ValueId rewrite_convolution(Rewriter& rewriter);
  ValueId pad_for_wide_window(Rewriter& rewriter, ValueId source, ops::Window& window);
  ValueId rewrite_transposed_convolution(Rewriter& rewriter);
  ValueId rewrite_elementwise(Rewriter& rewriter);
  ValueId rewrite_pool(Rewriter& rewriter);
  ValueId rewrite_mean(Rewriter& rewriter);
  ValueId rewrite_concat(Rewriter& rewriter);
  ValueId rewrite_slice(Rewriter& rewriter);
  ValueId rewrite_resize(Rewriter& rewriter);
  bool is_image(ValueId value) const {
    const graph::Type& type = graph_.value(value).type;
    return type.dtype == DType::Float32 && type.has_static_shape() && type.rank() == 4 && type.num_elements() > 0;
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  BlockedValues values_;
  int64_t block_;
};

ValueId BlockChannels::rewrite(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  if (node.outputs.empty() || node.outputs[0] == kNone || !is_image(node.outputs[0])) return kNone;
  if (node.op == Op::Conv) return rewrite_convolution(rewriter);
  if (node.op == Op::ConvTranspose) return rewrite_transposed_convolution(rewriter);
  const bool has_blocked_operand = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return values_.is_blocked(input); });
  if (!has_blocked_operand) return kNone;
  if (ops::op_class(node.op) == ops::OpClass::Elementwise) return rewrite_elementwise(rewriter);
  switch (node.op) {
    case Op::MaxPool:
    case Op::AveragePool:
      return rewrite_pool(rewriter);
    case Op::ReduceMean:
      return rewrite_mean(rewriter);
    case Op::Concat:
      return rewrite_concat(rewriter);
    case Op::Slice:
      return rewrite_slice(rewriter);
    case Op::Resize:
      return rewrite_resize(rewriter);
    default:
      return kNone;
  }
}

// Kernels unroll the taps of tiles at the image's sides, where some taps are left out. For wide windows that is too much code: they read a padded
// copy, and `window` then has no padding.
ValueId BlockChannels::pad_for_wide_window(Rewriter& rewriter, ValueId source, ops::Window& window) {
  constexpr int64_t kMaxUnrolledTaps = 11;
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  const bool has_pads = !std::all_of(window.pads_begin.begin(), window.pads_begin.end(), is_zero) ||
                        !std::all_of(window.pads_end.begin(), window.pads_end.end(), is_zero);
  const int64_t taps = window.input[1] == 1 && window.kernel[1] == 1 ? window.kernel[0] : window.kernel[1];  // of a column, along it
  if (!has_pads || taps <= kMaxUnrolledTaps) return source;
  const size_t rank = rewriter.shape(source).size();
  Extents pads(2 * rank, 0);
  for (size_t axis = 0; axis < 2; ++axis) {
    pads[axis + 2] = window.pads_begin[axis];
    pads[rank + axis + 2] = window.pads_end[axis];
    window.pads_begin[axis] = window.pads_end[axis] = 0;
  }
  return rewriter.add(Op::Pad, "padded", {source, rewriter.ints("padding", pads)}, {{"mode", std::string("constant")}});
}

ValueId BlockChannels::rewrite_convolution(Rewriter& rewriter) {
  const ValueId x = rewriter.input(0), w = rewriter.input(1), result = rewriter.node().outputs[0];
  const graph::Tensor* constant = graph_.tensor_of(w);
  // Layouts of constants are folded, which is slow for large ones.
  constexpr int64_t kMaxConstantElements = int64_t{1} << 23;
  const bool is_constant =
      constant != nullptr && graph_.value(w).kind == graph::ValueKind::Constant && constant->num_elements() <= kMaxConstantElements;
  if (!is_image(x) || !is_image(w) || (!is_constant && !is_packable_weight(graph_, users_, w, Op::Conv))) return kNone;
  auto window = ops::window_of(graph_, rewriter.node());
  if (!window.has_value()) return kNone;
  const Extents weight = rewriter.shape(w);
  const int64_t channels = rewriter.shape(result)[1], in_channels = rewriter.shape(x)[1];
  const bool is_depthwise = window->group > 1 && window->group == channels && window->group == in_channels;
  if (window->group != 1 && !is_depthwise) return kNone;

  // Few channels, as of an image, are read as they are.
  const bool reads_plain = !is_depthwise && in_channels < block_ && !values_.is_blocked(x);
  const ValueId source = pad_for_wide_window(rewriter, reads_plain ? x : values_.blocked(rewriter, x), *window);
  Attributes attributes;
  attributes["kernel_shape"] = window->kernel;
  attributes["strides"] = window->strides;
  attributes["dilations"] = window->dilations;
  Extents pads = window->pads_begin;
  pads.insert(pads.end(), window->pads_end.begin(), window->pads_end.end());
  attributes["pads"] = pads;
  attributes["channels"] = channels;
  attributes["block"] = block_;
  ValueId product = kNone;
  if (is_depthwise) {
    const ValueId taps = rewriter.transpose(rewriter.reshape(w, "taps", {channels, weight[2], weight[3]}), "taps_first", {1, 2, 0});
    const ValueId panels = rewriter.add(Op::PackPanels, "panels", {taps});
    product = rewriter.add(Op::BlockedDepthwiseConv, "product", {source, panels}, attributes);
  } else {
    const ValueId panels = rewriter.add(Op::PackPanels, "panels", {rewriter.transpose(w, "taps_first", {2, 3, 1, 0})});
    product = rewriter.add(Op::BlockedConv, "product", {source, panels}, attributes);
  }
  if (!rewriter.has_input(2)) return product;
  return rewriter.add(Op::Add, "bias", {product, values_.blocked_channels(rewriter, rewriter.input(2), channels)});
}

// A ConvTranspose whose windows do not overlap.
ValueId BlockChannels::rewrite_transposed_convolution(Rewriter& rewriter) {
  const ValueId x = rewriter.input(0), w = rewriter.input(1), result = rewriter.node().outputs[0];
  if (!is_image(x) || !is_image(w) || !is_packable_weight(graph_, users_, w, Op::ConvTranspose)) return kNone;
  const auto window = ops::window_of(graph_, rewriter.node());
  const auto all_are = [](const Extents& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == wanted; });
  };
  if (!window.has_value() || window->group != 1 || window->kernel != window->strides || !all_are(window->dilations, 1)) return kNone;
  if (!all_are(window->pads_begin, 0) || !all_are(window->pads_end, 0) || !all_are(window->output_padding, 0)) return kNone;
  const int64_t channels = rewriter.shape(result)[1];
  const ValueId panels = rewriter.add(Op::PackPanels, "panels", {rewriter.transpose(w, "taps_first", {2, 3, 0, 1})});
  const Attributes attributes = {{"kernel_shape", window->kernel}, {"channels", channels}, {"block", block_}, {"transposed", int64_t{1}}};
  const ValueId product = rewriter.add(Op::BlockedConv, "product", {values_.blocked(rewriter, x), panels}, attributes);
  if (!rewriter.has_input(2)) return product;
  return rewriter.add(Op::Add, "bias", {product, values_.blocked_channels(rewriter, rewriter.input(2), channels)});
}

// Operands that are images of the same shape are blocked; those that have one element or vary along the channels only get a matching shape.
ValueId BlockChannels::rewrite_elementwise(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  const Extents shape = rewriter.shape(node.outputs[0]);
  for (const ValueId input : node.inputs) {
    if (input == kNone) continue;
    if (!graph_.value(input).type.has_static_shape()) return kNone;
    const Extents own = rewriter.shape(input);
    const bool is_single = graph::num_elements(own) == 1;
    const bool is_same = own == shape, is_per_image = own.size() == 4 && own[1] == shape[1] && own[2] == 1 && own[3] == 1;
    const bool is_per_channel = own.size() == 3 && own[0] == shape[1] && own[1] == 1 && own[2] == 1;
    if (!is_single && !is_same && !is_per_image && !is_per_channel) return kNone;
    if (is_per_image && own[0] != 1 && own[0] != shape[0]) return kNone;
  }
  std::vector<ValueId> operands;
  for (const ValueId input : node.inputs) {
    if (input == kNone) {
      operands.push_back(kNone);
      continue;
    }
    const Extents own = rewriter.shape(input);
    if (own == shape) {
      operands.push_back(values_.blocked(rewriter, input));
    } else if (graph::num_elements(own) == 1) {
      const ValueId plain = values_.plain(rewriter, input);
      operands.push_back(own.size() == 4 ? rewriter.reshape(plain, "single", {1}) : plain);
    } else if (own.size() == 4 && own[0] > 1) {
      operands.push_back(values_.blocked(rewriter, input));
    } else {
      operands.push_back(values_.is_blocked(input) ? values_.blocked(rewriter, input) : values_.blocked_channels(rewriter, input, shape[1]));
    }
  }
  return rewriter.add(node.op, "blocked", operands, node.attributes);
}

// A pool over [N, C/b, H, W, b] is a three-dimensional pool whose last axis has a window of one.
ValueId BlockChannels::rewrite_pool(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  if (rewriter.has_output(1)) return kNone;
  const auto window = ops::window_of(graph_, node);
  if (!window.has_value()) return kNone;
  Attributes attributes = node.attributes;
  attributes.erase("auto_pad");
  const auto with = [](Extents values, int64_t last) {
    values.push_back(last);
    return values;
  };
  attributes["kernel_shape"] = with(window->kernel, 1);
  attributes["strides"] = with(window->strides, 1);
  attributes["dilations"] = with(window->dilations, 1);
  Extents pads = with(window->pads_begin, 0);
  const Extents ends = with(window->pads_end, 0);
  pads.insert(pads.end(), ends.begin(), ends.end());
  attributes["pads"] = pads;
  return rewriter.add(node.op, "blocked", {values_.blocked(rewriter, rewriter.input(0))}, attributes);
}

// The mean over all pixels: the block of one pixel is the plain value's bytes.
ValueId BlockChannels::rewrite_mean(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  const graph::Tensor* axes = graph_.tensor_of(node.input(1));
  if (axes == nullptr || node.int_attribute("keepdims", 1) == 0 || axes->to_int64s() != Extents{2, 3}) return kNone;
  return rewriter.reduce(Op::ReduceMean, values_.blocked(rewriter, rewriter.input(0)), "blocked", {2, 3}, true);
}

ValueId BlockChannels::rewrite_concat(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  const int64_t axis = node.int_attribute("axis", 0);
  if (axis != 1 && axis != -3) return kNone;
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) {
    if (!is_image(input) || rewriter.shape(input)[1] % block_ != 0) return kNone;
  }
  for (const ValueId input : node.inputs) parts.push_back(values_.blocked(rewriter, input));
  return rewriter.concat(parts, "blocked", 1);
}

// A slice of whole blocks.
ValueId BlockChannels::rewrite_slice(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  const auto only = [&](size_t input, int64_t otherwise) -> std::optional<int64_t> {
    if (node.input(input) == kNone) return otherwise;
    const graph::Tensor* tensor = graph_.tensor_of(node.input(input));
    if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
    return tensor->to_int64s()[0];
  };
  const auto begin = only(1, 0), end = only(2, 0), axis = only(3, 0), step = only(4, 1);
  if (!begin || !end || !axis || !step || *axis != 1 || *step != 1 || *begin < 0 || *end < 0) return kNone;
  const int64_t channels = rewriter.shape(rewriter.input(0))[1], last = std::min(*end, channels);
  if (*begin % block_ != 0 || last % block_ != 0 || *begin >= last) return kNone;
  return rewriter.slice(values_.blocked(rewriter, rewriter.input(0)), "blocked", 1, *begin / block_, last / block_);
}

ValueId BlockChannels::rewrite_resize(Rewriter& rewriter) {
  const Node& node = rewriter.node();
  const Extents from = rewriter.shape(rewriter.input(0)), to = rewriter.shape(node.outputs[0]);
  if (from[0] != to[0] || from[1] != to[1] || node.has_attribute("axes") || node.input(1) != kNone) return kNone;
  Attributes attributes = node.attributes;
  std::vector<ValueId> inputs = {values_.blocked(rewriter, rewriter.input(0)), kNone};
  const graph::Tensor* scales = graph_.tensor_of(node.input(2));
  if (scales != nullptr && scales->num_elements() == 4) {
    std::vector<float> factors;
    for (const double factor : scales->to_doubles()) factors.push_back(static_cast<float>(factor));
    factors.push_back(1.0F);
    inputs.push_back(rewriter.constant("scales", graph::Tensor::from<float>(DType::Float32, {5}, factors)));
  } else if (node.input(3) != kNone && node.string_attribute("keep_aspect_ratio_policy", "stretch") == "stretch") {
    inputs.push_back(kNone);
    inputs.push_back(rewriter.ints("sizes", {to[0], rewriter.shape(inputs[0])[1], to[2], to[3], block_}));
  } else {
    return kNone;
  }
  return rewriter.add(Op::Resize, "blocked", inputs, attributes);
}

}  // namespace

Status block_channels(Graph& graph, PassContext& context) {
  TIFFIN_TRY(BlockChannels(graph, context.machine.channel_block()).run());
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
