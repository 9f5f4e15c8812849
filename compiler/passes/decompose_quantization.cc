// SPDX-License-Identifier: Apache-2.0
// Quantisation as elementwise arithmetic in float32; the saturating Cast does the clamping. Integer products keep int32 sums.
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

// A scale or zero point shaped to broadcast against x: a scalar; along `axis`; or one for each block of `block` elements along it.
ValueId spread(Rewriter& r, ValueId factor, const std::string& part, ValueId x, int64_t axis, int64_t block) {
  const Extents shape = r.shape(x), given = r.shape(factor);
  if (graph::num_elements(given) == 1 && given.size() <= 1) return r.reshape(factor, part, {});
  const auto along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  if (given.size() == 1 && (block == 0 || shape.size() > 1)) {
    Extents vector(shape.size(), 1);
    vector[along] = given[0];
    return r.reshape(factor, part, vector);
  }
  // [.., n, ..] -> [.., n, 1, ..] -> [.., n, block, ..] -> [.., n*block, ..], cut where the last block is short.
  Extents split = given, repeated = given, joined = given;
  split.insert(split.begin() + static_cast<int64_t>(along) + 1, 1);
  repeated.insert(repeated.begin() + static_cast<int64_t>(along) + 1, block);
  joined[along] *= block;
  const ValueId all = r.reshape(r.expand(r.reshape(factor, part + "_split", split), part + "_copies", repeated), part, joined);
  return joined == shape ? all : r.slice(all, part + "_cut", static_cast<int64_t>(along), 0, shape[along]);
}

bool has_computing_type(DType dtype) { return is_standard_float(dtype) || is_standard_int(dtype); }

int64_t block_of(Rewriter& r) {
  const Extents x = r.shape(r.input(0)), scale = r.shape(r.input(1));
  const int64_t declared = r.node().int_attribute("block_size", 0);
  if (declared > 0 || x.size() != scale.size() || x.empty()) return declared;
  int64_t axis = r.node().int_attribute("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(x.size());
  const auto along = static_cast<size_t>(axis);
  if (along >= x.size() || scale[along] == 0) return 0;
  return (x[along] + scale[along] - 1) / scale[along];
}

DType wider(DType a, DType b) { return a == DType::Float64 || b == DType::Float64 ? DType::Float64 : DType::Float32; }

}  // namespace

Replacements decompose_quantize_linear(Rewriter& r) {
  const ValueId x = r.input(0), result = r.node().outputs[0];
  if (!has_computing_type(r.dtype(x)) || !is_standard_int(r.dtype(result))) return {};
  const int64_t axis = r.node().int_attribute("axis", 1), block = block_of(r);
  const DType wide = wider(r.dtype(x), r.dtype(r.input(1)));
  const ValueId scale = spread(r, r.cast(r.input(1), "wide_scale", wide), "scale", x, axis, block);
  ValueId steps = r.add(Op::Round, "rounded", {r.add(Op::Div, "scaled", {r.cast(x, "wide", wide), scale})});
  if (r.has_input(2)) {
    const ValueId zero = spread(r, r.cast(r.input(2), "wide_zero_point", wide), "zero_point", x, axis, block);
    steps = r.add(Op::Add, "shifted", {steps, zero});
  }
  return {r.cast(steps, "quantized", r.dtype(result))};
}

Replacements decompose_dequantize_linear(Rewriter& r) {
  const ValueId x = r.input(0), result = r.node().outputs[0];
  if (!has_computing_type(r.dtype(x)) || !has_computing_type(r.dtype(result))) return {};
  const int64_t axis = r.node().int_attribute("axis", 1), block = block_of(r);
  const DType wide = wider(r.dtype(r.input(1)), r.dtype(result));
  ValueId steps = r.cast(x, "wide", wide);
  if (r.has_input(2)) {
    const ValueId zero = spread(r, r.cast(r.input(2), "wide_zero_point", wide), "zero_point", x, axis, block);
    steps = r.add(Op::Sub, "centred", {steps, zero});
  }
  const ValueId scale = spread(r, r.cast(r.input(1), "wide_scale", wide), "scale", x, axis, block);
  return {r.cast(r.add(Op::Mul, "scaled", {steps, scale}), "dequantized", r.dtype(result))};
}

// scale = (max(x, 0) - min(x, 0)) / 255 and zero point = round(-min / scale), both so that 0 is represented exactly.
Replacements decompose_dynamic_quantize_linear(Rewriter& r) {
  const ValueId x = r.input(0);
  Extents axes;
  for (int64_t axis = 0; axis < r.rank(x); ++axis) axes.push_back(axis);
  if (graph::num_elements(r.shape(x)) == 0) return {};
  const ValueId zero = r.number(DType::Float32, 0);
  const ValueId maximum = r.add(Op::Max, "maximum", {r.reduce(Op::ReduceMax, x, "reduced_max", axes, false), zero});
  const ValueId minimum = r.add(Op::Min, "minimum", {r.reduce(Op::ReduceMin, x, "reduced_min", axes, false), zero});
  const ValueId range = r.add(Op::Sub, "range", {maximum, minimum});
  const ValueId step = r.add(Op::Div, "step", {range, r.number(DType::Float32, 255)});
  // A tensor of zeros has range 0; any scale but 0 represents it.
  const ValueId scale = r.add(Op::Where, "scale", {r.add(Op::Equal, "is_zero", {range, zero}), r.number(DType::Float32, 1), step});
  const ValueId offset = r.add(Op::Round, "offset", {r.add(Op::Div, "from_min", {r.add(Op::Sub, "negated", {zero, minimum}), scale})});
  const ValueId zero_point = r.cast(offset, "zero_point", DType::UInt8);
  const ValueId steps = r.add(Op::Round, "rounded", {r.add(Op::Div, "scaled", {x, scale})});
  const ValueId shifted = r.add(Op::Add, "shifted", {steps, r.cast(zero_point, "wide_zero_point", DType::Float32)});
  return {r.cast(shifted, "quantized", DType::UInt8), scale, zero_point};
}

namespace {

// Inputs of both: x 0, x_scale 1, x_zero 2, w 3, w_scale 4, w_zero 5, y_scale 6, y_zero 7; QLinearConv: bias 8.
ValueId integer_product(Rewriter& r, bool is_convolution) {
  const std::vector<ValueId> operands{r.input(0), r.input(3), r.input(2), r.input(5)};
  if (!is_convolution) return r.add(Op::MatMulInteger, "product", operands);
  const ValueId sums = r.add(Op::ConvInteger, "product", operands, r.node().attributes);
  if (!r.has_input(8) || !r.is_ok()) return sums;
  Extents shape(r.shape(sums).size() - 1, 1);
  shape[0] = graph::num_elements(r.shape(r.input(8)));
  return r.add(Op::Add, "biased", {sums, r.reshape(r.input(8), "bias", shape)});
}

// Per row of the first matrix a vector stands upright; per filter of a convolution it lies along the channels.
ValueId shaped_scale(Rewriter& r, ValueId scale, const std::string& part, ValueId sums, int64_t axis) {
  const Extents given = r.shape(scale);
  if (given.size() > 1) return scale;
  if (graph::num_elements(given) == 1) return r.reshape(scale, part, {});
  const auto rank = static_cast<int64_t>(r.shape(sums).size());
  Extents shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = given[0];
  return r.reshape(scale, part, shape);
}

}  // namespace

Replacements decompose_quantized_product(Rewriter& r) {
  const bool is_convolution = r.node().op == Op::QLinearConv;
  const DType result = r.dtype(r.node().outputs[0]);
  if (!is_standard_int(result)) return {};
  const ValueId sums = integer_product(r, is_convolution);
  if (!r.is_ok()) return {};
  const auto float_scale = [&](size_t i, const char* part, int64_t axis) {
    return shaped_scale(r, r.cast(r.input(i), std::string(part) + "_wide", DType::Float32), part, sums, axis);
  };
  const ValueId x_scale = float_scale(1, "x_scale", -2), w_scale = float_scale(4, "w_scale", is_convolution ? 1 : -1);
  const ValueId factor = r.add(Op::Div, "factor", {r.add(Op::Mul, "scales", {x_scale, w_scale}), float_scale(6, "y_scale", is_convolution ? 1 : -2)});
  const ValueId scaled = r.add(Op::Mul, "scaled", {r.cast(sums, "wide", DType::Float32), factor});
  const ValueId zero = shaped_scale(r, r.cast(r.input(7), "y_zero_wide", DType::Float32), "y_zero_point", sums, is_convolution ? 1 : -2);
  return {r.cast(r.add(Op::Add, "shifted", {r.add(Op::Round, "rounded", {scaled}), zero}), "quantized", result)};
}

}  // namespace tiffin::passes
