// SPDX-License-Identifier: Apache-2.0
// Elements of the operators with two operands, which broadcast.
#include "compiler/kernel/math.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::Op;

namespace {

using BinaryFn = std::function<Expr(Builder&, Expr, Expr)>;

// The sign of the divisor, as Python's %: that of a floating zero too.
Expr floored_mod(Builder& b, Expr x, Expr y) {
  const bool is_float = is_standard_float(x->type.dtype);
  Expr rest = b.let("rest", is_float ? math::fmod(b, x, y) : b.mod(x, y));
  if (is_unsigned_int(x->type.dtype)) return rest;
  Expr zero = b.zero(rest->type);
  Expr has_other_sign = b.ne(b.lt(rest, zero), b.lt(y, zero));
  Expr moved = b.select(has_other_sign, b.add(rest, y), rest);
  return b.select(b.ne(rest, zero), moved, is_float ? math::copy_sign(b, zero, y) : zero);
}

// Square and multiply, wrapping. A negative exponent gives 1 / x^|y| truncated: 0 but for bases 1 and -1.
Expr integer_pow(Builder& b, Expr x, Expr y) {
  const int lanes = std::max(x->type.lanes, y->type.lanes);
  x = b.splat(x, lanes);
  y = b.splat(y, lanes);
  const Type type = x->type;
  Expr one = b.integer(type, 1), zero = b.integer(type, 0);
  Expr result = b.add_register("power", one), square = b.add_register("square", x), left = b.add_register("exponent", y);
  b.for_loop("bit", dtype_bits(type.dtype), [&](Expr) {
    Expr is_set = b.eq(b.bit_and(left, one), one);
    b.set(result, b.select(is_set, b.mul(result, square), result));
    b.set(square, b.mul(square, square));
    b.set(left, b.shr(left, one));
  });
  Expr power = b.let("power", result);
  if (is_unsigned_int(type.dtype)) return power;
  Expr is_odd = b.eq(b.bit_and(y, one), one);
  Expr minus_one = b.integer(type, -1);
  Expr of_minus_one = b.select(is_odd, minus_one, one);
  Expr inverse = b.select(b.eq(x, one), one, b.select(b.eq(x, minus_one), of_minus_one, zero));
  return b.select(b.lt(y, zero), inverse, power);
}

BinaryFn modulo(const Node& node, DType dtype) {
  if (node.int_attribute("fmod", 0) == 0) return floored_mod;
  if (is_standard_float(dtype)) return math::fmod;
  return [](Builder& b, Expr x, Expr y) { return b.mod(x, y); };
}

BinaryFn shift(const Node& node) {
  const bool is_left = node.string_attribute("direction", "") == "LEFT";
  return [is_left](Builder& b, Expr x, Expr y) { return is_left ? b.shl(x, y) : b.shr(x, y); };
}

BinaryFn plain(BinaryOp op) {
  return [op](Builder& b, Expr x, Expr y) { return b.binary(op, x, y); };
}

BinaryFn binary_function(const Node& node, DType dtype) {
  switch (node.op) {
    case Op::Add:
    case Op::Sum:
      return plain(BinaryOp::Add);
    case Op::Sub:
      return plain(BinaryOp::Sub);
    case Op::Mul:
      return plain(BinaryOp::Mul);
    case Op::Div:
      return plain(BinaryOp::Div);
    case Op::Max:
      return plain(BinaryOp::Max);
    case Op::Min:
      return plain(BinaryOp::Min);
    case Op::And:
    case Op::BitwiseAnd:
      return plain(BinaryOp::And);
    case Op::Or:
    case Op::BitwiseOr:
      return plain(BinaryOp::Or);
    case Op::Xor:
    case Op::BitwiseXor:
      return plain(BinaryOp::Xor);
    case Op::Equal:
      return plain(BinaryOp::Equal);
    case Op::Less:
      return plain(BinaryOp::Less);
    case Op::LessOrEqual:
      return plain(BinaryOp::LessEqual);
    case Op::Greater:
      return [](Builder& b, Expr x, Expr y) { return b.lt(y, x); };
    case Op::GreaterOrEqual:
      return [](Builder& b, Expr x, Expr y) { return b.le(y, x); };
    case Op::BitShift:
      return shift(node);
    case Op::Mod:
      return modulo(node, dtype);
    case Op::Pow:
      return is_standard_float(dtype) ? BinaryFn(math::pow) : BinaryFn(integer_pow);
    case Op::PRelu:
      return [](Builder& b, Expr x, Expr slope) { return b.select(b.lt(x, b.zero(x->type)), b.mul(x, slope), x); };
    default:
      return nullptr;
  }
}

}  // namespace

Result<ElementFn> define_binary(Lowering& lowering, const Node& node) {
  const graph::Graph& graph = lowering.graph();
  if (node.inputs.size() == 1) return define_identity(lowering, node);
  for (graph::ValueId input : node.inputs) {
    if (lowering.dtype(input) == lowering.dtype(node.inputs[0])) continue;
    return ops::node_error(Code::UnsupportedType, graph, node, "the operands are %s and %s, expected one element type",
                           std::string(dtype_name(lowering.dtype(node.inputs[0]))).c_str(), std::string(dtype_name(lowering.dtype(input))).c_str());
  }
  return ElementFn([operands = node.inputs, function = binary_function(node, lowering.dtype(node.inputs[0]))](Lowering& l, size_t, Points points) {
    Values elements = l.broadcast_values(operands[0], points);
    for (size_t i = 1; i < operands.size(); ++i) {
      const Values others = l.broadcast_values(operands[i], points);
      for (size_t p = 0; p < points.size(); ++p) elements[p] = function(l.b(), elements[p], others[p]);
    }
    return elements;
  });
}

}  // namespace tiffin::kernel
