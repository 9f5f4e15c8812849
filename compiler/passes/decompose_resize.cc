// SPDX-License-Identifier: Apache-2.0
// Resize axis by axis: for each tap of the interpolation a Gather with constant positions, times constant weights, summed. Many taps (antialias)
// are one product with a constant matrix instead.
#include <algorithm>

#include "compiler/ops/resize_taps.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

using Taps = std::vector<std::vector<ops::ResizeTap>>;
constexpr size_t kMaxGathers = 4;

// What a position without taps reads: anything, with weight 0.
ops::ResizeTap tap_at(const std::vector<ops::ResizeTap>& taps, size_t index) { return index < taps.size() ? taps[index] : ops::ResizeTap(); }

ValueId floats(Rewriter& r, const std::string& part, DType dtype, const std::vector<double>& values, const Extents& shape) {
  if (dtype == DType::Float64) return r.constant(part, graph::Tensor::from<double>(dtype, shape, values));
  const std::vector<float> narrow(values.begin(), values.end());
  return r.cast(r.constant(part, graph::Tensor::from<float>(DType::Float32, shape, narrow)), part + "_cast", dtype);
}

// A vector along `axis`, shaped to broadcast against a tensor of that rank.
Extents along(int64_t rank, int64_t axis, size_t count) {
  Extents shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = static_cast<int64_t>(count);
  return shape;
}

ValueId gathered(Rewriter& r, ValueId x, int64_t axis, const Taps& taps, size_t index) {
  Extents positions;
  for (const auto& here : taps) positions.push_back(tap_at(here, index).position);
  return r.add(Op::Gather, "tap" + std::to_string(index), {x, r.ints("positions", positions)}, {{"axis", axis}});
}

ValueId weighted_gathers(Rewriter& r, ValueId x, int64_t axis, const Taps& taps, size_t count) {
  ValueId sum = graph::kNone;
  for (size_t index = 0; index < count; ++index) {
    std::vector<double> weights;
    for (const auto& here : taps) weights.push_back(tap_at(here, index).weight);
    const ValueId factors = floats(r, "weights", r.dtype(x), weights, along(r.rank(x), axis, taps.size()));
    const ValueId term = r.add(Op::Mul, "weighted", {gathered(r, x, axis, taps, index), factors});
    sum = index == 0 ? term : r.add(Op::Add, "sum", {sum, term});
  }
  return sum;
}

// [outer, in, inner] -> [outer, out, inner] by the matrix [out, in].
ValueId matrix_product(Rewriter& r, ValueId x, int64_t axis, const Taps& taps) {
  Extents shape = r.shape(x);
  const auto split = static_cast<size_t>(axis);
  const int64_t in = shape[split], outer = graph::num_elements(std::span(shape).first(split));
  const int64_t inner = graph::num_elements(std::span(shape).subspan(split + 1)), out = static_cast<int64_t>(taps.size());
  std::vector<double> matrix(static_cast<size_t>(out * in), 0.0);
  for (size_t row = 0; row < taps.size(); ++row) {
    for (const ops::ResizeTap& tap : taps[row]) matrix[row * static_cast<size_t>(in) + static_cast<size_t>(tap.position)] += tap.weight;
  }
  const ValueId weights = floats(r, "weights", r.dtype(x), matrix, {out, in});
  shape[split] = out;
  return r.reshape(r.add(Op::MatMul, "resampled", {weights, r.reshape(x, "columns", {outer, in, inner})}), "resized", shape);
}

ValueId extrapolated(Rewriter& r, ValueId x, int64_t axis, const Taps& taps) {
  std::vector<uint8_t> is_outside;
  for (const auto& here : taps) is_outside.push_back(here.empty());
  if (std::find(is_outside.begin(), is_outside.end(), 1) == is_outside.end()) return x;
  const Extents shape = along(r.rank(x), axis, taps.size());
  const ValueId outside = r.constant("is_outside", graph::Tensor::from<uint8_t>(DType::Bool, shape, is_outside));
  return r.add(Op::Where, "extrapolated", {outside, r.number(r.dtype(x), r.node().float_attribute("extrapolation_value", 0)), x});
}

ValueId resized(Rewriter& r, ValueId x, int64_t axis, const Taps& taps, bool is_nearest) {
  size_t count = 1;  // where no position has a tap, all are extrapolated
  for (const auto& here : taps) count = std::max(count, here.size());
  if (is_nearest) return extrapolated(r, gathered(r, x, axis, taps, 0), axis, taps);
  return extrapolated(r, count <= kMaxGathers ? weighted_gathers(r, x, axis, taps, count) : matrix_product(r, x, axis, taps), axis, taps);
}

}  // namespace

Replacements decompose_resize(Rewriter& r) {
  Result<std::vector<ops::ResizeAxis>> axes = ops::resize_of(r.graph(), r.node());
  const DType dtype = r.dtype(r.input(0));
  if (!axes.has_value() || graph::num_elements(r.shape(r.input(0))) == 0) return {};
  const bool is_nearest = r.node().string_attribute("mode", "nearest") == "nearest";
  ValueId x = is_nearest || is_standard_float(dtype) ? r.input(0) : r.cast(r.input(0), "wide", DType::Float32);
  for (size_t axis = 0; axis < axes->size() && r.is_ok(); ++axis) {
    const ops::ResizeAxis& extent = (*axes)[axis];
    if (!ops::is_resize_identity(extent)) x = resized(r, x, static_cast<int64_t>(axis), ops::resize_taps(r.node(), extent), is_nearest);
  }
  return {r.cast(x, "narrow", dtype)};
}

}  // namespace tiffin::passes
