// SPDX-License-Identifier: Apache-2.0
// Elements of the convolutions. All points share one loop over input channels and taps.
#include <algorithm>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/kernel/window_walk.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;
using graph::ValueId;

namespace {

struct Convolution {
  ValueId data = graph::kNone, weight = graph::kNone, bias = graph::kNone;
  ValueId data_zero = graph::kNone, weight_zero = graph::kNone;  // ConvInteger
  ops::Window window;
  int64_t group_inputs = 1, group_outputs = 1;  // channels
  bool has_one_weight_zero = false;
  DType dtype = DType::Undefined;  // accumulators
};

// The element of input `value`, widened to the accumulators and less its zero point.
Expr operand(Lowering& l, Expr value, Expr zero, DType dtype) {
  Expr wide = l.b().cast(value, dtype);
  return zero == nullptr ? wide : l.b().sub(wide, zero);
}

Expr multiply_add(Builder& b, Expr x, Expr y, Expr sum) { return is_standard_float(sum->type.dtype) ? b.fma(x, y, sum) : b.add(b.mul(x, y), sum); }

// Registers for the points' sums, with the nest's lanes.
Values start_sums(Lowering& l, DType dtype, Points points) {
  Values sums;
  const Type type{dtype, static_cast<uint16_t>(lanes_of(points))};
  for (size_t i = 0; i < points.size(); ++i) sums.push_back(l.b().add_register("sum", l.b().zero(type)));
  return sums;
}

Values convolution_elements(Lowering& l, const Convolution& conv, Points points) {
  Builder& b = l.b();
  Values first_channel, data_zero, weight_zero;
  for (const Index& point : points) {
    l.note_tile(point[1]);
    first_channel.push_back(b.mul(b.div(point[1], conv.group_outputs), conv.group_inputs));
    const Index of_zero(conv.data_zero == graph::kNone ? 0 : l.shape(conv.data_zero).size(), b.i64(0));
    data_zero.push_back(conv.data_zero == graph::kNone ? nullptr : b.let("zero", b.cast(l.value(conv.data_zero, of_zero), conv.dtype)));
    Expr zero = nullptr;
    if (conv.weight_zero != graph::kNone) {
      const Index index = l.shape(conv.weight_zero).empty() ? Index{} : Index{conv.has_one_weight_zero ? b.i64(0) : point[1]};
      zero = b.let("zero", b.cast(l.value(conv.weight_zero, index), conv.dtype));
    }
    weight_zero.push_back(zero);
  }
  l.note_reduction(conv.group_inputs * graph::num_elements(conv.window.kernel), false);
  const Values sums = start_sums(l, conv.dtype, points);
  WindowWalk walk(l, conv.window, points, 2);
  b.for_loop("channel", conv.group_inputs, [&](Expr channel) {
    walk.run([&](const std::vector<Index>& positions, const Index& tap) {
      std::vector<Index> at, weights;
      std::vector<size_t> inside;
      for (size_t p = 0; p < points.size(); ++p) {
        if (positions[p].empty()) continue;
        inside.push_back(p);
        at.push_back({points[p][0], b.add(first_channel[p], channel)});
        at.back().insert(at.back().end(), positions[p].begin(), positions[p].end());
        weights.push_back({points[p][1], channel});
        weights.back().insert(weights.back().end(), tap.begin(), tap.end());
      }
      const Values x = l.values(conv.data, at), w = l.values(conv.weight, weights);
      for (size_t i = 0; i < inside.size(); ++i) {
        const size_t p = inside[i];
        Expr left = operand(l, x[i], data_zero[p], conv.dtype), right = operand(l, w[i], weight_zero[p], conv.dtype);
        b.set(sums[p], multiply_add(b, left, right, sums[p]));
      }
    });
  });
  Values elements;
  for (size_t p = 0; p < points.size(); ++p) {
    Expr sum = b.let("sum", sums[p]);
    elements.push_back(conv.bias == graph::kNone ? sum : b.add(sum, l.value(conv.bias, {points[p][1]})));
  }
  return elements;
}

// Element o gathers from the inputs i with i * stride + k * dilation - pad = o, so from those taps k for which the division is exact.
Expr transposed_element(Lowering& l, const Convolution& conv, const Index& point) {
  Builder& b = l.b();
  const ops::Window& window = conv.window;
  const size_t rank = window.spatial_rank();
  Expr sum = b.add_register("sum", b.zero({conv.dtype, static_cast<uint16_t>(lanes_of({&point, 1}))}));
  Expr group = b.div(point[1], conv.group_outputs);
  Index tap(rank), position(rank);
  const std::function<void(size_t)> walk = [&](size_t axis) {
    if (axis == rank) {
      b.for_loop("channel", conv.group_inputs, [&](Expr channel) {
        Index at{point[0], b.add(b.mul(group, conv.group_inputs), channel)}, weight{b.add(b.mul(group, conv.group_inputs), channel)};
        at.insert(at.end(), position.begin(), position.end());
        weight.push_back(b.mod(point[1], conv.group_outputs));
        weight.insert(weight.end(), tap.begin(), tap.end());
        b.set(sum, multiply_add(b, b.cast(l.value(conv.data, at), conv.dtype), b.cast(l.value(conv.weight, weight), conv.dtype), sum));
      });
      return;
    }
    const int64_t stride = window.strides[axis];
    b.for_loop("k", window.kernel[axis], [&](Expr k) {
      tap[axis] = k;
      Expr shifted = b.sub(b.add(point[2 + axis], window.pads_begin[axis]), b.mul(k, window.dilations[axis]));
      const auto inner = [&] {
        // Only multiples of the stride that are not negative come here.
        Expr source = stride == 1 ? shifted : b.div(shifted, stride);
        position[axis] = l.within(source, window.input[axis]);
        walk(axis + 1);
        return b.i64(0);
      };
      if (l.trace() != nullptr) {
        l.trace()->guards.push_back({b.index_math().form_of(shifted), 0, window.input[axis] * stride});
        inner();
        return;
      }
      if (shifted->type.lanes > 1) {
        l.has_failed = true;
        return;
      }
      Expr is_in = b.bit_and(b.le(b.i64(0), shifted), b.lt(shifted, b.i64((window.input[axis] - 1) * stride + 1)));
      Expr is_exact = stride == 1 ? b.boolean(true) : b.eq(b.mod(shifted, stride), b.i64(0));
      b.if_then(b.bit_and(is_in, is_exact), [&] { inner(); });
    });
  };
  walk(0);
  Expr element = b.let("sum", sum);
  return conv.bias == graph::kNone ? element : b.add(element, l.value(conv.bias, {point[1]}));
}

}  // namespace

Result<ElementFn> define_convolution(Lowering& lowering, const Node& node) {
  Convolution conv;
  TIFFIN_ASSIGN_OR_RETURN(conv.window, ops::window_of(lowering.graph(), node));
  const std::vector<int64_t> weight_shape = lowering.shape(node.inputs[1]);
  conv.data = node.inputs[0];
  conv.weight = node.inputs[1];
  if (node.op == Op::ConvInteger) {
    conv.data_zero = node.input(2);
    conv.weight_zero = node.input(3);
    conv.has_one_weight_zero = conv.weight_zero == graph::kNone || graph::num_elements(lowering.shape(conv.weight_zero)) == 1;
  } else {
    conv.bias = node.input(2);
  }
  conv.group_inputs = weight_shape[1];
  conv.group_outputs = std::max<int64_t>(1, weight_shape[0] / conv.window.group);
  conv.dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  return ElementFn([conv](Lowering& l, size_t, Points points) { return convolution_elements(l, conv, points); });
}

Result<ElementFn> define_transposed_convolution(Lowering& lowering, const Node& node) {
  Convolution conv;
  TIFFIN_ASSIGN_OR_RETURN(conv.window, ops::window_of(lowering.graph(), node));
  const std::vector<int64_t> weight_shape = lowering.shape(node.inputs[1]);
  conv.data = node.inputs[0];
  conv.weight = node.inputs[1];
  conv.bias = node.input(2);
  conv.group_inputs = weight_shape[0] / conv.window.group;
  conv.group_outputs = std::max<int64_t>(1, weight_shape[1]);
  conv.dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  const double taps = static_cast<double>(conv.group_inputs * graph::num_elements(conv.window.kernel));
  return ElementFn([conv, taps](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(transposed_element(l, conv, point));
    l.note_reduction(static_cast<int64_t>(taps), false);
    return elements;
  });
}

}  // namespace tiffin::kernel
