// SPDX-License-Identifier: Apache-2.0
// Elementwise composites as chains of elementwise primitives, which fusion joins again into one loop.
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

Op binary_form(Op op) { return op == Op::Max || op == Op::Min ? op : Op::Add; }

ValueId swish(Rewriter& r, ValueId x, double alpha) {
  const ValueId scaled = alpha == 1 ? x : r.add(Op::Mul, "scaled", {x, r.number(r.dtype(x), alpha)});
  return r.add(Op::Mul, "swish", {x, r.add(Op::Sigmoid, "sigmoid", {scaled})});
}

ValueId celu(Rewriter& r, ValueId x, double alpha) {
  if (alpha == 1) return r.add(Op::Elu, "elu", {x}, {{"alpha", 1.0}});
  const ValueId divisor = r.number(r.dtype(x), alpha);
  const ValueId elu = r.add(Op::Elu, "elu", {r.add(Op::Div, "scaled", {x, divisor})}, {{"alpha", 1.0}});
  const ValueId is_positive = r.add(Op::Less, "is_positive", {r.number(r.dtype(x), 0), x});
  return r.add(Op::Where, "celu", {is_positive, x, r.add(Op::Mul, "negative", {elu, divisor})});
}

ValueId selu(Rewriter& r, ValueId x) {
  const double alpha = r.node().float_attribute("alpha", 1.67326319217681884765625);
  const double gamma = r.node().float_attribute("gamma", 1.05070102214813232421875);
  return r.add(Op::Mul, "selu", {r.add(Op::Elu, "elu", {x}, {{"alpha", alpha}}), r.number(r.dtype(x), gamma)});
}

// Thresholds and bias are real numbers for integers as well; what comes out is cut to an integer then.
ValueId shrink(Rewriter& r, ValueId x) {
  const DType given = r.dtype(x), dtype = is_standard_int(given) ? DType::Float64 : given;
  if (dtype != given) x = r.cast(x, "wide", dtype);
  const double lambda = r.node().float_attribute("lambd", 0.5), bias = r.node().float_attribute("bias", 0);
  const ValueId bias_value = r.number(dtype, bias);
  const ValueId is_high = r.add(Op::Less, "is_high", {r.number(dtype, lambda), x});
  const ValueId is_low = r.add(Op::Less, "is_low", {x, r.number(dtype, -lambda)});
  const ValueId high = r.add(Op::Where, "high", {is_high, r.add(Op::Sub, "less", {x, bias_value}), r.number(dtype, 0)});
  const ValueId result = r.add(Op::Where, "shrink", {is_low, r.add(Op::Add, "more", {x, bias_value}), high});
  return dtype != given ? r.cast(result, "narrow", given) : result;
}

ValueId thresholded_relu(Rewriter& r, ValueId x) {
  const ValueId alpha = r.number(r.dtype(x), r.node().float_attribute("alpha", 1));
  return r.add(Op::Where, "relu", {r.add(Op::Less, "is_above", {alpha, x}), x, r.number(r.dtype(x), 0)});
}

ValueId hard_swish(Rewriter& r, ValueId x) {
  const ValueId gate = r.add(Op::HardSigmoid, "gate", {x}, {{"alpha", static_cast<double>(1.0f / 6)}, {"beta", 0.5}});
  return r.add(Op::Mul, "hard_swish", {x, gate});
}

ValueId mish(Rewriter& r, ValueId x) { return r.add(Op::Mul, "mish", {x, r.add(Op::Tanh, "tanh", {r.add(Op::Softplus, "softplus", {x})})}); }

ValueId softsign(Rewriter& r, ValueId x) {
  const ValueId magnitude = r.add(Op::Abs, "magnitude", {x});
  return r.add(Op::Div, "softsign", {x, r.add(Op::Add, "divisor", {magnitude, r.number(r.dtype(x), 1)})});
}

ValueId prelu(Rewriter& r, ValueId x) {
  const ValueId is_negative = r.add(Op::Less, "is_negative", {x, r.number(r.dtype(x), 0)});
  return r.add(Op::Where, "prelu", {is_negative, r.add(Op::Mul, "scaled", {x, r.input(1)}), x});
}

}  // namespace

Replacements decompose_variadic(Rewriter& r) {
  const Node& node = r.node();
  const bool is_binary = node.inputs.size() == 2 && (node.op == Op::Max || node.op == Op::Min);
  if (is_binary) return {};
  ValueId result = node.inputs[0];
  const std::vector<ValueId> operands = node.inputs;
  const Op op = node.op;
  for (size_t i = 1; i < operands.size(); ++i) result = r.add(binary_form(op), "sum", {result, operands[i]});
  if (op == Op::Mean && operands.size() > 1) {
    result = r.add(Op::Div, "mean", {result, r.number(r.dtype(operands[0]), static_cast<double>(operands.size()))});
  }
  return {result};
}

Replacements decompose_activation(Rewriter& r) {
  const ValueId x = r.input(0);
  switch (r.node().op) {
    case Op::Celu:
      return {celu(r, x, r.node().float_attribute("alpha", 1))};
    case Op::HardSwish:
      return {hard_swish(r, x)};
    case Op::Mish:
      return {mish(r, x)};
    case Op::PRelu:
      return {prelu(r, x)};
    case Op::Reciprocal:
      return {r.add(Op::Div, "reciprocal", {r.number(r.dtype(x), 1), x})};
    case Op::Selu:
      return {selu(r, x)};
    case Op::Shrink:
      return {shrink(r, x)};
    case Op::Softsign:
      return {softsign(r, x)};
    case Op::SwiGLU:
      return {r.add(Op::Mul, "swiglu", {swish(r, x, r.node().float_attribute("alpha", 1)), r.input(1)})};
    case Op::Swish:
      return {swish(r, x, r.node().float_attribute("alpha", 1))};
    case Op::Tan:
      return {r.add(Op::Div, "tan", {r.add(Op::Sin, "sin", {x}), r.add(Op::Cos, "cos", {x})})};
    case Op::ThresholdedRelu:
      return {thresholded_relu(r, x)};
    default:
      return {};
  }
}

Replacements decompose_swapped_comparison(Rewriter& r) {
  const Op op = r.node().op == Op::Greater ? Op::Less : Op::LessOrEqual;
  return {r.add(op, "swapped", {r.input(1), r.input(0)})};
}

Replacements decompose_clip(Rewriter& r) {
  const auto is_computed = [&](size_t i) { return r.has_input(i) && !r.graph().is_constant(r.input(i)); };
  if (!is_computed(1) && !is_computed(2)) return {};
  ValueId x = r.input(0);
  if (r.has_input(1)) x = r.add(Op::Max, "above_min", {x, r.reshape(r.input(1), "min", {})});
  if (r.has_input(2)) x = r.add(Op::Min, "below_max", {x, r.reshape(r.input(2), "max", {})});
  return {x};
}

// A power that is a whole number but for the last bits becomes it, so that truncation does not take the next smaller one.
ValueId settle_whole_numbers(Rewriter& r, ValueId power) {
  const DType dtype = r.dtype(power);
  const ValueId whole = r.add(Op::Round, "whole", {power});
  const ValueId distance = r.add(Op::Abs, "distance", {r.add(Op::Sub, "rest", {power, whole})});
  const ValueId bound = r.add(Op::Mul, "bound", {r.add(Op::Abs, "magnitude", {power}), r.number(dtype, 0x1p-51)});
  return r.add(Op::Where, "settled", {r.add(Op::LessOrEqual, "is_whole", {distance, bound}), whole, power});
}

Replacements decompose_pow(Rewriter& r) {
  const DType base = r.dtype(r.input(0)), exponent = r.dtype(r.input(1));
  if (base == exponent) return {};
  // An integer base with a fractional exponent is computed in floats, as wide as keeps the base exact, and truncated.
  const bool is_integer_power = is_standard_int(base) && is_standard_int(exponent);
  const bool is_wide = dtype_bits(base) > 16 || exponent == DType::Float64;
  const DType common = is_standard_float(base) || is_integer_power ? base : is_wide ? DType::Float64 : DType::Float32;
  const ValueId power = r.add(Op::Pow, "pow", {r.cast(r.input(0), "base", common), r.cast(r.input(1), "exponent", common)});
  // Float32 is rounded from more bits already.
  const bool is_inexact = is_standard_int(base) && common == DType::Float64;
  return {r.cast(is_inexact ? settle_whole_numbers(r, power) : power, "result", base)};
}

}  // namespace tiffin::passes
