// SPDX-License-Identifier: Apache-2.0
// Tiffin's own products on panels and blocks, by what they mean: operands brought into ONNX's layout, ONNX's operator, and its result brought back.
#include "compiler/ops/infer.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/reference/evaluate.h"
#include "compiler/reference/evaluation.h"

namespace tiffin::reference {
namespace {

using graph::ValueId;
using Extents = std::vector<int64_t>;

// A small network of constants that is evaluated at once. The first operator that fails is the answer.
class Composition {
 public:
  ValueId constant(const Tensor& tensor) { return graph_.add_constant("", tensor); }
  const Extents& shape(ValueId value) {
    shape_ = graph_.value(value).type.has_static_shape() ? graph_.value(value).type.static_shape() : Extents{};
    return shape_;
  }
  ValueId add(Op op, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
    const ValueId result = graph_.add_node(op, "", std::move(inputs), std::move(attributes));
    if (status_.is_ok()) status_ = ops::infer_node(graph_, graph_.value(result).producer);
    return result;
  }
  ValueId ints(const Extents& values) { return constant(Tensor::int64s(values)); }
  ValueId transpose(ValueId value, const Extents& order) { return add(Op::Transpose, {value}, {{"perm", order}}); }
  ValueId reshape(ValueId value, const Extents& to) { return add(Op::Reshape, {value, ints(to)}, {{"allowzero", int64_t{1}}}); }
  // The first `count` elements along an axis.
  ValueId first(ValueId value, int64_t axis, int64_t count) { return add(Op::Slice, {value, ints({0}), ints({count}), ints({axis})}); }
  // Zeros behind the elements of an axis, up to `extent`.
  ValueId pad(ValueId value, size_t axis, int64_t extent) {
    const Extents from = shape(value);
    Extents pads(2 * from.size(), 0);
    if (axis >= from.size()) return value;
    pads[from.size() + axis] = extent - from[axis];
    return add(Op::Pad, {value, ints(pads)}, {{"mode", std::string("constant")}});
  }

  Result<Tensors> evaluate(ValueId output) {
    TIFFIN_TRY(std::move(status_));
    graph_.set_outputs({output});
    return evaluate_graph(graph_, {});
  }

 private:
  graph::Graph graph_{"composition"};
  Extents shape_;
  Status status_;
};

// [ceil(C / 16), rows..., 16] to [rows..., channels]
ValueId unpack(Composition& parts, ValueId panels, int64_t channels) {
  const Extents shape = parts.shape(panels);
  const auto rank = static_cast<int64_t>(shape.size());
  Extents order;
  for (int64_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
  order.push_back(0);
  order.push_back(rank - 1);
  Extents merged(shape.begin() + 1, shape.end() - 1);
  merged.push_back(shape.front() * shape.back());
  return parts.first(parts.reshape(parts.transpose(panels, order), merged), rank - 2, channels);
}

// [N, C/b, H, W, b] to [N, C, H, W]
ValueId unblock(Composition& parts, ValueId image, int64_t channels) {
  const Extents shape = parts.shape(image);
  const ValueId plain = parts.transpose(image, {0, 1, 4, 2, 3});
  return parts.first(parts.reshape(plain, {shape[0], shape[1] * shape[4], shape[2], shape[3]}), 1, channels);
}

ValueId block(Composition& parts, ValueId image, int64_t width) {
  const Extents shape = parts.shape(image);
  const int64_t blocks = (shape[1] + width - 1) / width;
  const ValueId split = parts.reshape(parts.pad(image, 1, blocks * width), {shape[0], blocks, width, shape[2], shape[3]});
  return parts.transpose(split, {0, 1, 3, 4, 2});
}

graph::Attributes window_attributes(const Node& node) {
  graph::Attributes out;
  for (const char* key : {"kernel_shape", "strides", "dilations", "pads"}) {
    if (node.has_attribute(key)) out[key] = node.ints_attribute(key);
  }
  return out;
}

}  // namespace

// x: [..., K], panels: [ceil(n / 16), K, 16]
Result<Tensors> evaluate_packed_matmul(const Evaluation& e) {
  Composition parts;
  const ValueId weight = unpack(parts, parts.constant(e.inputs[1]), e.node.int_attribute("n", 0));
  return parts.evaluate(parts.add(Op::MatMul, {parts.constant(e.inputs[0]), weight}));
}

// The panels are the weights with taps first: [kh, kw, I, O], of depthwise ones [kh, kw, C].
Result<Tensors> evaluate_blocked_convolution(const Evaluation& e) {
  const bool is_depthwise = e.op() == Op::BlockedDepthwiseConv, is_transposed = e.node.int_attribute("transposed", 0) != 0;
  if (e.node.ints_attribute("kernel_shape").size() != 2) return e.unsupported_type(e.inputs[0].dtype());
  const int64_t channels = e.node.int_attribute("channels", 0);
  Composition parts;
  ValueId x = parts.constant(e.inputs[0]), weight = unpack(parts, parts.constant(e.inputs[1]), channels);
  const Extents taps = parts.shape(weight);
  const int64_t in_channels = is_depthwise ? channels : taps[2];
  if (e.inputs[0].rank() == 5) x = unblock(parts, x, in_channels);
  graph::Attributes attributes = window_attributes(e.node);
  if (is_depthwise) {
    weight = parts.reshape(parts.transpose(weight, {2, 0, 1}), {channels, 1, taps[0], taps[1]});
    attributes["group"] = channels;
  } else {
    weight = parts.transpose(weight, is_transposed ? Extents{2, 3, 0, 1} : Extents{3, 2, 0, 1});
  }
  if (is_transposed) attributes["strides"] = Extents{taps[0], taps[1]};  // windows do not overlap
  const ValueId image = parts.add(is_transposed ? Op::ConvTranspose : Op::Conv, {x, weight}, attributes);
  return parts.evaluate(block(parts, image, e.node.int_attribute("block", 1)));
}

}  // namespace tiffin::reference
