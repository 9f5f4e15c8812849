// SPDX-License-Identifier: Apache-2.0
// Elements of the operators with one operand, and of Clip and Where.
#include <cmath>
#include <numbers>

#include "compiler/kernel/math.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;

namespace {

using UnaryFn = std::function<Expr(Builder&, Expr)>;

Expr sign_of(Builder& b, Expr x) {
  const Type type = x->type;
  if (is_unsigned_int(type.dtype)) return b.min(x, b.number(type, 1));
  Expr is_zero = b.eq(x, b.zero(type));
  // NaN is none of the three and stays.
  Expr other = b.select(is_zero, b.zero(type), x);
  Expr negative = b.select(b.lt(x, b.zero(type)), b.number(type, -1), other);
  return b.select(b.lt(b.zero(type), x), b.number(type, 1), negative);
}

Expr gelu(Builder& b, Expr x, bool is_tanh) {
  const Type type = x->type;
  Expr half = b.mul(x, b.real(type, 0.5));
  Expr inner;
  if (is_tanh) {
    Expr cubic = b.fma(b.mul(b.mul(x, x), b.real(type, 0.044715)), x, x);
    inner = math::tanh(b, b.let("gelu", b.mul(cubic, b.real(type, std::sqrt(2 / std::numbers::pi)))));
  } else {
    inner = math::erf(b, b.let("gelu", b.mul(x, b.real(type, std::numbers::sqrt2 / 2))));
  }
  return b.mul(half, b.add(inner, b.real(type, 1)));
}

Expr hard_sigmoid(Builder& b, Expr x, double alpha, double beta) {
  Expr line = b.add(b.mul(x, b.real(x->type, alpha)), b.real(x->type, beta));
  return b.max(b.min(line, b.real(x->type, 1)), b.zero(x->type));
}

Expr elu(Builder& b, Expr x, double alpha) {
  Expr below = b.mul(math::expm1(b, b.let("below", b.min(x, b.zero(x->type)))), b.real(x->type, alpha));
  return b.select(b.lt(x, b.zero(x->type)), below, x);
}

Expr is_infinite(Builder& b, Expr x, bool negative, bool positive) {
  const double infinity = std::numeric_limits<double>::infinity();
  Expr is_positive = b.eq(x, b.real(x->type, infinity)), is_negative = b.eq(x, b.real(x->type, -infinity));
  if (negative && positive) return b.bit_or(is_positive, is_negative);
  if (!negative && !positive) return b.boolean(false, x->type.lanes);
  return positive ? is_positive : is_negative;
}

Expr convert(Builder& b, Expr x, DType to) {
  // A 16-bit float is computed in Float32 but rounded here, as the model asks.
  return b.cast(b.cast(x, to), compute_dtype(to));
}

// Functions of floats alone; null for other operators.
UnaryFn float_function(const Node& node) {
  switch (node.op) {
    case Op::Acos:
      return math::acos;
    case Op::Acosh:
      return math::acosh;
    case Op::Asin:
      return math::asin;
    case Op::Asinh:
      return math::asinh;
    case Op::Atan:
      return math::atan;
    case Op::Atanh:
      return math::atanh;
    case Op::Ceil:
      return [](Builder& b, Expr x) { return b.ceil(x); };
    case Op::Cos:
      return math::cos;
    case Op::Cosh:
      return math::cosh;
    case Op::Elu:
      return [alpha = node.float_attribute("alpha", 1)](Builder& b, Expr x) { return elu(b, x, alpha); };
    case Op::Erf:
      return math::erf;
    case Op::Exp:
      return math::exp;
    case Op::Floor:
      return [](Builder& b, Expr x) { return b.floor(x); };
    case Op::Gelu:
      return [tanh = node.string_attribute("approximate", "none") == "tanh"](Builder& b, Expr x) { return gelu(b, x, tanh); };
    case Op::HardSigmoid:
      return [alpha = node.float_attribute("alpha", 0.2f), beta = node.float_attribute("beta", 0.5)](Builder& b, Expr x) {
        return hard_sigmoid(b, x, alpha, beta);
      };
    case Op::IsInf:
      return [negative = node.int_attribute("detect_negative", 1) != 0, positive = node.int_attribute("detect_positive", 1) != 0](
                 Builder& b, Expr x) { return is_infinite(b, x, negative, positive); };
    case Op::IsNaN:
      return math::is_nan;
    case Op::LeakyRelu:
      return [alpha = node.float_attribute("alpha", 0.01f)](Builder& b, Expr x) {
        return b.select(b.lt(x, b.zero(x->type)), b.mul(x, b.real(x->type, alpha)), x);
      };
    case Op::Log:
      return math::log;
    case Op::Reciprocal:
      return [](Builder& b, Expr x) { return b.div(b.real(x->type, 1), x); };
    case Op::Round:
      return [](Builder& b, Expr x) { return b.round_even(x); };
    case Op::Sigmoid:
      return math::sigmoid;
    case Op::Sin:
      return math::sin;
    case Op::Sinh:
      return math::sinh;
    case Op::Softplus:
      return math::softplus;
    case Op::Sqrt:
      return [](Builder& b, Expr x) { return b.sqrt(x); };
    case Op::Swish:
      return [alpha = node.float_attribute("alpha", 1)](Builder& b, Expr x) {
        return b.mul(x, math::sigmoid(b, b.let("scaled", b.mul(x, b.real(x->type, alpha)))));
      };
    case Op::Tan:
      return math::tan;
    case Op::Tanh:
      return math::tanh;
    default:
      return nullptr;
  }
}

// Functions of any number, or of Bool.
UnaryFn number_function(const Node& node, DType dtype, DType result) {
  const bool is_unsigned = is_unsigned_int(dtype);
  switch (node.op) {
    case Op::Abs:
      return [is_unsigned](Builder& b, Expr x) { return is_unsigned ? x : b.abs(x); };
    case Op::BitwiseNot:
    case Op::Not:
      return [](Builder& b, Expr x) { return b.logical_not(x); };
    case Op::Cast:
      return [result](Builder& b, Expr x) { return convert(b, x, result); };
    case Op::Neg:
      return [](Builder& b, Expr x) { return b.neg(x); };
    case Op::Relu:
      return [is_unsigned](Builder& b, Expr x) { return is_unsigned ? x : b.max(x, b.zero(x->type)); };
    case Op::Sign:
      return sign_of;
    default:
      return nullptr;
  }
}

}  // namespace

Result<ElementFn> define_unary(Lowering& lowering, const Node& node) {
  const graph::ValueId operand = node.inputs[0];
  const DType dtype = lowering.dtype(operand);
  UnaryFn function = number_function(node, dtype, lowering.dtype(node.outputs[0]));
  if (function == nullptr) {
    if (!is_standard_float(dtype)) {
      return ops::node_error(Code::UnsupportedType, lowering.graph(), node, "the operator is not lowered for %s, expected a float type",
                             std::string(dtype_name(dtype)).c_str());
    }
    function = float_function(node);
  }
  return ElementFn([operand, function](Lowering& l, size_t, Points points) {
    Values elements = l.values(operand, points);
    for (Expr& element : elements) element = function(l.b(), element);
    return elements;
  });
}

Result<ElementFn> define_clip(Lowering&, const Node& node) {
  const graph::ValueId operand = node.inputs[0], low = node.input(1), high = node.input(2);
  return ElementFn([operand, low, high](Lowering& l, size_t, Points points) {
    Values elements = l.values(operand, points);
    for (size_t i = 0; i < points.size(); ++i) {
      // The upper bound wins where the bounds cross.
      if (low != graph::kNone) elements[i] = l.b().max(elements[i], l.broadcast_value(low, points[i]));
      if (high != graph::kNone) elements[i] = l.b().min(elements[i], l.broadcast_value(high, points[i]));
    }
    return elements;
  });
}

Result<ElementFn> define_where(Lowering&, const Node& node) {
  return ElementFn([operands = node.inputs](Lowering& l, size_t, Points points) {
    const Values condition = l.broadcast_values(operands[0], points);
    const Values yes = l.broadcast_values(operands[1], points), no = l.broadcast_values(operands[2], points);
    Values elements;
    for (size_t i = 0; i < points.size(); ++i) elements.push_back(l.b().select(condition[i], yes[i], no[i]));
    return elements;
  });
}

}  // namespace tiffin::kernel
