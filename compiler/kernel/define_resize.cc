// SPDX-License-Identifier: Apache-2.0
// Elements of Resize: a weighted sum over a few positions along each resized axis, nested. Coordinates and weights are computed in Float64 by the
// formulas of ops/resize_taps.h, so that positions are the same.
#include <algorithm>
#include <cmath>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/resize_taps.h"

namespace tiffin::kernel {

using graph::Node;
using graph::ValueId;

namespace {

struct Resizing {
  ValueId data = graph::kNone;
  std::vector<ops::ResizeAxis> axes;
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool excludes_outside = false, is_antialiased = false, is_integer = false;
  DType dtype = DType::Undefined;  // of the sums
};

struct Tap {
  Expr position = nullptr;
  Expr weight = nullptr;  // null: 1
};

struct AxisTaps {
  std::vector<Tap> taps;
  Expr is_outside = nullptr;  // takes the extrapolation value; null: never
};

class TapMaker {
 public:
  TapMaker(Builder& builder, const Resizing& resizing, const ops::ResizeAxis& axis, Expr place)
      : b(builder), resizing_(resizing), axis_(axis), x(b.let("place", b.cast(place, DType::Float64))), type(x->type) {}

  AxisTaps taps() {
    x = b.let("source", coordinate());
    AxisTaps result;
    if (resizing_.coordinates == "tf_crop_and_resize") {
      result.is_outside = b.let("is_outside", b.bit_or(b.lt(x, real(0)), b.lt(real(static_cast<double>(axis_.input - 1)), x)));
    }
    if (resizing_.mode == "nearest") {
      result.taps.push_back({clamp(nearest()), nullptr});
    } else {
      weighted(result.taps);
    }
    return result;
  }

 private:
  Expr real(double value) { return b.real(type, value); }

  Expr coordinate() {
    const double in = static_cast<double>(axis_.input), resized = in * axis_.scale;
    const std::string& mode = resizing_.coordinates;
    if (mode == "align_corners") return resized == 1 ? real(0) : b.div(b.mul(x, real(in - 1)), real(resized - 1));
    if (mode == "asymmetric") return b.div(x, real(axis_.scale));
    Expr centre = b.div(b.add(x, real(0.5)), real(axis_.scale));
    if (mode == "tf_half_pixel_for_nn") return centre;
    if (mode == "pytorch_half_pixel") return resized == 1 ? real(0) : b.sub(centre, real(0.5));
    if (mode == "half_pixel_symmetric") {
      const double offset = in / 2 * (1 - static_cast<double>(axis_.output) / resized);
      return b.sub(b.add(real(offset), centre), real(0.5));
    }
    if (mode == "tf_crop_and_resize") {
      if (resized == 1) return real(0.5 * (axis_.roi_begin + axis_.roi_end) * (in - 1));
      Expr along = b.div(b.mul(b.mul(x, real(axis_.roi_end - axis_.roi_begin)), real(in - 1)), real(resized - 1));
      return b.add(real(axis_.roi_begin * (in - 1)), along);
    }
    return b.sub(centre, real(0.5));
  }

  Expr nearest() {
    if (resizing_.nearest == "floor") return b.floor(x);
    if (resizing_.nearest == "ceil") return b.ceil(x);
    if (resizing_.nearest == "round_prefer_ceil") return b.floor(b.add(x, real(0.5)));
    return b.ceil(b.sub(x, real(0.5)));
  }

  // A whole number as a position inside the axis.
  Expr clamp(Expr whole) {
    Expr inside = b.max(b.min(whole, real(static_cast<double>(axis_.input - 1))), real(0));
    return b.let_index("position", b.cast(inside, DType::Int64), {0, std::max<int64_t>(axis_.input - 1, 0)});
  }

  Expr kernel_weight(Expr distance) {
    Expr d = b.let("distance", b.abs(distance));
    if (resizing_.mode != "cubic") return b.max(real(0), b.sub(real(1), d));
    const double a = resizing_.cubic;
    Expr near = b.add(b.mul(b.mul(b.sub(b.mul(real(a + 2), d), real(a + 3)), d), d), real(1));
    Expr far = b.sub(b.mul(b.add(b.mul(b.sub(b.mul(real(a), d), real(5 * a)), d), real(8 * a)), d), real(4 * a));
    return b.select(b.le(d, real(1)), near, b.select(b.lt(d, real(2)), far, real(0)));
  }

  void weighted(std::vector<Tap>& taps) {
    const double stretch = resizing_.is_antialiased && axis_.scale < 1 ? axis_.scale : 1;
    const double radius = (resizing_.mode == "cubic" ? 2 : 1) / stretch;
    const int count = static_cast<int>(std::floor(2 * radius)) + (resizing_.is_antialiased ? 1 : 0);
    Expr first = b.let("first", b.add(b.floor(b.sub(x, real(radius))), real(1)));
    Expr sum = real(0);
    for (int i = 0; i < count; ++i) {
      Expr position = b.let("tap", b.add(first, real(i)));
      Expr weight = kernel_weight(b.mul(b.sub(position, x), real(stretch)));
      if (resizing_.excludes_outside) {
        Expr is_outside = b.bit_or(b.lt(position, real(0)), b.lt(real(static_cast<double>(axis_.input - 1)), position));
        weight = b.select(is_outside, real(0), weight);
      }
      weight = b.let("weight", weight);
      sum = b.let("sum", b.add(sum, weight));
      taps.push_back({clamp(position), weight});
    }
    const bool needs_scaling = resizing_.excludes_outside || resizing_.is_antialiased;
    for (Tap& tap : taps) {
      Expr weight = needs_scaling ? b.div(tap.weight, sum) : tap.weight;
      tap.weight = b.let("weight", b.cast(weight, resizing_.dtype));
    }
  }

  Builder& b;
  const Resizing& resizing_;
  const ops::ResizeAxis& axis_;
  Expr x;
  Type type;
};

Expr weighted_sum(Lowering& l, const Resizing& resizing, const std::vector<AxisTaps>& taps, Index source, size_t axis) {
  Builder& b = l.b();
  while (axis < taps.size() && taps[axis].taps.empty()) ++axis;
  if (axis == taps.size()) return b.cast(l.value(resizing.data, source), resizing.dtype);
  Expr sum = nullptr;
  for (const Tap& tap : taps[axis].taps) {
    source[axis] = tap.position;
    Expr value = weighted_sum(l, resizing, taps, source, axis + 1);
    if (tap.weight == nullptr) return value;
    value = b.let("value", value);
    sum = b.let("sum", sum == nullptr ? b.mul(value, tap.weight) : b.fma(value, tap.weight, sum));
  }
  return sum;
}

Expr resized_element(Lowering& l, const Resizing& resizing, const Index& point) {
  Builder& b = l.b();
  std::vector<AxisTaps> taps(point.size());
  Expr is_outside = b.boolean(false);
  int64_t reads = 1;
  for (size_t axis = 0; axis < point.size(); ++axis) {
    if (ops::is_resize_identity(resizing.axes[axis])) continue;
    taps[axis] = TapMaker(b, resizing, resizing.axes[axis], point[axis]).taps();
    reads *= static_cast<int64_t>(taps[axis].taps.size());
    if (taps[axis].is_outside != nullptr) is_outside = b.bit_or(is_outside, taps[axis].is_outside);
  }
  if (reads > 1) l.note_reduction(reads, false);
  Expr element = weighted_sum(l, resizing, taps, point, 0);
  element = b.select(is_outside, b.real({resizing.dtype, 1}, resizing.extrapolation), element);
  return resizing.is_integer ? b.cast(element, l.dtype(resizing.data)) : element;
}

}  // namespace

Result<ElementFn> define_resize(Lowering& lowering, const Node& node) {
  Resizing resizing;
  TIFFIN_ASSIGN_OR_RETURN(resizing.axes, ops::resize_of(lowering.graph(), node));
  resizing.data = node.inputs[0];
  resizing.mode = node.string_attribute("mode", "nearest");
  resizing.coordinates = node.string_attribute("coordinate_transformation_mode", "half_pixel");
  resizing.nearest = node.string_attribute("nearest_mode", "round_prefer_floor");
  resizing.cubic = node.float_attribute("cubic_coeff_a", -0.75);
  resizing.extrapolation = node.float_attribute("extrapolation_value", 0);
  resizing.excludes_outside = node.int_attribute("exclude_outside", 0) != 0;
  resizing.is_antialiased = node.int_attribute("antialias", 0) != 0 && resizing.mode != "nearest";
  const DType dtype = compute_dtype(lowering.dtype(resizing.data));
  resizing.is_integer = !is_standard_float(dtype);
  resizing.dtype = dtype == DType::Float32 ? DType::Float32 : DType::Float64;
  const bool copies = resizing.mode == "nearest" && resizing.is_integer;
  // Copied integers need no detour through floats, which 64-bit ones would not survive.
  if (copies && resizing.coordinates != "tf_crop_and_resize") {
    resizing.dtype = dtype;
    resizing.is_integer = false;
  }
  return ElementFn([resizing](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(resized_element(l, resizing, point));
    return elements;
  });
}

}  // namespace tiffin::kernel
