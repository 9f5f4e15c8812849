// SPDX-License-Identifier: Apache-2.0
// Elementwise operators that change no bit. x + 0 is not among them: it turns -0 into 0.
#include <cmath>

#include "compiler/passes/simplifications.h"

namespace tiffin::passes {
namespace {

using graph::kNone;

int significant_bits(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 53;
    case DType::Float32:
      return 24;
    case DType::Float16:
      return 11;
    case DType::BFloat16:
      return 8;
    default:
      return dtype_bits(dtype) - (is_signed_int(dtype) ? 1 : 0);
  }
}

// Every value of `from` is one of `to`.
bool holds_all(DType to, DType from) {
  if (to == from) return true;
  if (from == DType::Bool) return is_standard_float(to) || is_standard_int(to);
  if (is_standard_float(from)) {
    const bool is_wider = is_standard_float(to) && dtype_bits(to) > dtype_bits(from);
    return is_wider;
  }
  if (!is_standard_int(from)) return false;
  if (is_standard_float(to)) return significant_bits(to) >= significant_bits(from);
  if (!is_standard_int(to)) return false;
  return significant_bits(to) >= significant_bits(from) && (is_signed_int(to) || is_unsigned_int(from));
}

// 2^k with 2^-k normal as well, in float32 and wider.
bool has_exact_reciprocal(DType dtype, double value) {
  if (dtype != DType::Float32 && dtype != DType::Float64) return false;
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5 && std::abs(exponent) < 100;
}

bool is_constant(const Pattern& pattern, ValueId value) { return value != kNone && pattern.graph().value(value).kind == graph::ValueKind::Constant; }

// x op neutral == x for every x.
bool is_neutral(Op op, DType dtype, double number) {
  switch (op) {
    case Op::Mul:
    case Op::Div:
      return number == 1;
    case Op::Sub:
      return number == 0 && (is_standard_int(dtype) || !std::signbit(number));
    case Op::Add:
      return number == 0 && (is_standard_int(dtype) || std::signbit(number));
    default:
      return false;
  }
}

}  // namespace

ValueId simplify_cast(Rewriter& r, const Pattern& pattern) {
  const ValueId x = r.input(0), result = r.node().outputs[0];
  if (r.dtype(x) == r.dtype(result)) return x;
  const Node* inner = pattern.producer(x, Op::Cast);
  if (inner == nullptr) return kNone;
  const ValueId source = inner->inputs[0];
  const DType from = r.dtype(source), middle = r.dtype(x), to = r.dtype(result);
  if (!holds_all(middle, from)) return kNone;
  // Floats become integers by saturation, integers by wrapping: the detour matters where a value does not fit.
  const bool saturates = is_standard_float(middle) && is_standard_int(to) && !is_standard_float(from) && !holds_all(to, from);
  return saturates ? kNone : r.cast(source, "direct", to);
}

ValueId simplify_arithmetic(Rewriter& r, const Pattern& pattern) {
  const Op op = r.node().op;
  const ValueId result = r.node().outputs[0];
  const bool is_commutative = op == Op::Add || op == Op::Mul;
  for (size_t side = is_commutative ? 0 : 1; side < 2; ++side) {
    const ValueId x = r.input(1 - side), operand = r.input(side);
    if (!is_constant(pattern, operand)) continue;
    const std::optional<double> number = pattern.number(operand);
    if (!number.has_value()) continue;
    if (is_neutral(op, r.dtype(x), *number) && r.shape(x) == r.shape(result)) return x;
    if (op != Op::Div || !has_exact_reciprocal(r.dtype(x), *number)) continue;
    const ValueId reciprocal = r.reshape(r.number(r.dtype(x), 1 / *number), "reciprocal", Extents(r.shape(operand).size(), 1));
    if (r.shape(x) == r.shape(result)) return r.add(Op::Mul, "product", {x, reciprocal});
  }
  return kNone;
}

ValueId simplify_inverse_pair(Rewriter& r, const Pattern& pattern) {
  const Node* inner = pattern.producer(r.input(0), r.node().op);
  return inner == nullptr ? kNone : inner->inputs[0];
}

ValueId simplify_where(Rewriter& r, const Pattern& pattern) {
  const ValueId result = r.node().outputs[0];
  if (r.input(1) == r.input(2)) return r.expand(r.input(1), "same", r.shape(result));
  if (!is_constant(pattern, r.input(0))) return kNone;
  const std::vector<int64_t> condition = pattern.graph().tensor_of(r.input(0))->to_int64s();
  for (const int64_t element : condition) {
    if (element != condition[0]) return kNone;
  }
  return condition.empty() ? kNone : r.expand(r.input(condition[0] != 0 ? 1 : 2), "chosen", r.shape(result));
}

bool drop_expands(graph::Graph& graph, graph::NodeId id, const Pattern& pattern) {
  bool has_changed = false;
  const Extents shape = pattern.shape(graph.node(id).outputs[0]);
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const Node* expand = pattern.producer(graph.node(id).inputs[i], Op::Expand);
    if (expand == nullptr) continue;
    std::vector<ValueId> inputs = graph.node(id).inputs;
    inputs[i] = expand->inputs[0];
    Extents broadcast(shape.size(), 1);
    bool has_rank = false;
    for (const ValueId input : inputs) {
      if (input == kNone) continue;
      const Extents own = pattern.shape(input);
      has_rank = has_rank || own.size() == shape.size();
      for (size_t axis = 0; axis < own.size() && own.size() <= shape.size(); ++axis) {
        if (own[axis] != 1) broadcast[shape.size() - own.size() + axis] = own[axis];
      }
    }
    if (!has_rank || broadcast != shape) continue;
    graph.node(id).inputs = inputs;
    has_changed = true;
  }
  return has_changed;
}

}  // namespace tiffin::passes
