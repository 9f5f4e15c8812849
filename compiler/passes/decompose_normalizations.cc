// SPDX-License-Identifier: Apache-2.0
// Normalisations over channels and groups: the rows' statistics by LayerNormalization, scale and bias as elementwise operators, which fuse.
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

// A vector over the channels, shaped to broadcast against [N, C, …].
ValueId over_channels(Rewriter& r, ValueId vector, const std::string& part, int64_t rank) {
  if (!r.is_ok()) return vector;
  Extents shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = graph::num_elements(r.shape(vector));
  return r.reshape(vector, part, shape);
}

}  // namespace

Replacements decompose_batch_normalization(Rewriter& r) {
  if (r.node().int_attribute("training_mode", 0) != 0) return {};
  const ValueId x = r.input(0);
  // The statistics may be of another float type than x; they are combined in the wider one.
  const DType wide = r.dtype(r.input(3)) == DType::Float64 ? DType::Float64 : r.dtype(x);
  const auto statistic = [&](size_t i, const char* part) { return r.cast(r.input(i), part, wide); };
  const ValueId epsilon = r.number(wide, r.node().float_attribute("epsilon", 1e-5f));
  const ValueId deviation = r.add(Op::Sqrt, "deviation", {r.add(Op::Add, "variance", {statistic(4, "var"), epsilon})});
  const ValueId scale = r.add(Op::Div, "scale", {statistic(1, "gamma"), deviation});
  const ValueId shift = r.add(Op::Sub, "shift", {statistic(2, "beta"), r.add(Op::Mul, "centre", {statistic(3, "mean"), scale})});
  if (!r.is_ok()) return {};
  const int64_t rank = r.rank(x);
  if (rank < 2) {
    const ValueId scaled = r.add(Op::Mul, "scaled", {x, r.cast(scale, "scale_as_x", r.dtype(x))});
    return {r.add(Op::Add, "shifted", {scaled, r.cast(shift, "shift_as_x", r.dtype(x))})};
  }
  const ValueId scaled = r.add(Op::Mul, "scaled", {x, over_channels(r, r.cast(scale, "scale_as_x", r.dtype(x)), "scale_shaped", rank)});
  return {r.add(Op::Add, "shifted", {scaled, over_channels(r, r.cast(shift, "shift_as_x", r.dtype(x)), "shift_shaped", rank)})};
}

Replacements decompose_group_normalization(Rewriter& r) {
  const ValueId x = r.input(0);
  const Extents shape = r.shape(x);
  const int64_t groups = r.node().op == Op::InstanceNormalization ? shape[1] : r.node().int_attribute("num_groups", 1);
  if (groups < 1 || graph::num_elements(shape) == 0) return {};
  const int64_t row = graph::num_elements(shape) / (shape[0] * groups);
  const double epsilon = r.node().float_attribute("epsilon", 1e-5f);
  const ValueId grouped = r.reshape(x, "grouped", {shape[0], groups, row});
  const ValueId ones = r.add(Op::LayerNormalization, "normalized", {grouped, r.number(r.dtype(x), 1)}, {{"axis", int64_t{2}}, {"epsilon", epsilon}});
  const ValueId normalized = r.reshape(ones, "ungrouped", shape);
  const int64_t rank = r.rank(x);
  const ValueId scaled = r.add(Op::Mul, "scaled", {normalized, over_channels(r, r.cast(r.input(1), "scale", r.dtype(x)), "scale_shaped", rank)});
  return {r.add(Op::Add, "shifted", {scaled, over_channels(r, r.cast(r.input(2), "bias", r.dtype(x)), "bias_shaped", rank)})};
}

Replacements decompose_mean_variance_normalization(Rewriter& r) {
  const ValueId x = r.input(0);
  Extents axes = r.node().ints_attribute("axes", {0, 2, 3});
  for (int64_t& axis : axes) axis = axis < 0 ? axis + r.rank(x) : axis;
  const ValueId centred = r.add(Op::Sub, "centred", {x, r.reduce(Op::ReduceMean, x, "mean", axes, true)});
  const ValueId variance = r.reduce(Op::ReduceMean, r.add(Op::Mul, "square", {centred, centred}), "variance", axes, true);
  const ValueId deviation = r.add(Op::Add, "divisor", {r.add(Op::Sqrt, "deviation", {variance}), r.number(r.dtype(x), 1e-9)});
  return {r.add(Op::Div, "normalized", {centred, deviation})};
}

Replacements decompose_lrn(Rewriter& r) {
  const ValueId x = r.input(0);
  const Extents shape = r.shape(x);
  const int64_t size = r.node().int_attribute("size", 1);
  if (size < 1 || shape.size() < 2 || graph::num_elements(shape) == 0) return {};
  const int64_t rest = graph::num_elements(shape) / (shape[0] * shape[1]);
  // Channels become the height of a one-channel image, so that the sum over neighbours is an average pool.
  const ValueId image = r.reshape(r.add(Op::Mul, "square", {x, x}), "image", {shape[0], 1, shape[1], rest});
  const ValueId mean =
      r.add(Op::AveragePool, "mean", {image},
            {{"kernel_shape", Extents{size, 1}}, {"pads", Extents{(size - 1) / 2, 0, size / 2, 0}}, {"count_include_pad", int64_t{1}}});
  const DType dtype = r.dtype(x);
  const ValueId scaled = r.add(Op::Mul, "scaled", {r.reshape(mean, "mean_shaped", shape), r.number(dtype, r.node().float_attribute("alpha", 1e-4f))});
  const ValueId base = r.add(Op::Add, "base", {scaled, r.number(dtype, r.node().float_attribute("bias", 1))});
  const ValueId divisor = r.add(Op::Pow, "divisor", {base, r.number(dtype, r.node().float_attribute("beta", 0.75))});
  return {r.add(Op::Div, "normalized", {x, divisor})};
}

}  // namespace tiffin::passes
