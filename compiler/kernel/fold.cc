// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/fold.h"

#include <cmath>

namespace tiffin::kernel {

namespace {

template <class T>
int64_t wrapped(int64_t value) {
  return static_cast<int64_t>(static_cast<T>(value));
}

ExprNode integer_node(Type type, int64_t value) {
  ExprNode node;
  node.kind = ExprKind::Const;
  node.type = type;
  node.int_value = wrap_integer(type.dtype, value);
  return node;
}

ExprNode real_node(Type type, double value) {
  ExprNode node;
  node.kind = ExprKind::Const;
  node.type = type;
  node.float_value = value;
  return node;
}

template <class T>
std::optional<double> fold_real(BinaryOp op, double left, double right) {
  const T a = static_cast<T>(left), b = static_cast<T>(right);
  switch (op) {
    case BinaryOp::Add:
      return static_cast<T>(a + b);
    case BinaryOp::Sub:
      return static_cast<T>(a - b);
    case BinaryOp::Mul:
      return static_cast<T>(a * b);
    case BinaryOp::Div:
      return static_cast<T>(a / b);
    default:
      return std::nullopt;
  }
}

// uint64 is held in int64, so that orders and quotients differ by sign.
std::optional<int64_t> fold_integer(DType dtype, BinaryOp op, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool is_unsigned = !is_signed_int(dtype);
  switch (op) {
    case BinaryOp::Add:
      return static_cast<int64_t>(ua + ub);
    case BinaryOp::Sub:
      return static_cast<int64_t>(ua - ub);
    case BinaryOp::Mul:
      return static_cast<int64_t>(ua * ub);
    case BinaryOp::Div:
      if (b == 0) return 0;
      if (is_unsigned) return static_cast<int64_t>(ua / ub);
      return b == -1 ? static_cast<int64_t>(-ua) : a / b;
    case BinaryOp::Mod:
      if (b == 0) return 0;
      if (is_unsigned) return static_cast<int64_t>(ua % ub);
      return b == -1 ? 0 : a % b;
    case BinaryOp::Min:
      return (is_unsigned ? ua < ub : a < b) ? a : b;
    case BinaryOp::Max:
      return (is_unsigned ? ua < ub : a < b) ? b : a;
    case BinaryOp::And:
      return a & b;
    case BinaryOp::Or:
      return a | b;
    case BinaryOp::Xor:
      return a ^ b;
    case BinaryOp::Equal:
      return a == b;
    case BinaryOp::Less:
      return is_unsigned ? ua < ub : a < b;
    case BinaryOp::LessEqual:
      return is_unsigned ? ua <= ub : a <= b;
    default:
      return std::nullopt;
  }
}

bool is_comparison(BinaryOp op) { return op == BinaryOp::Equal || op == BinaryOp::Less || op == BinaryOp::LessEqual; }

}  // namespace

int64_t wrap_integer(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::Bool:
      return value != 0;
    case DType::Int8:
      return wrapped<int8_t>(value);
    case DType::Int16:
      return wrapped<int16_t>(value);
    case DType::Int32:
      return wrapped<int32_t>(value);
    case DType::UInt8:
      return wrapped<uint8_t>(value);
    case DType::UInt16:
      return wrapped<uint16_t>(value);
    case DType::UInt32:
      return wrapped<uint32_t>(value);
    default:
      return value;
  }
}

std::optional<ExprNode> fold_binary(BinaryOp op, const ExprNode& a, const ExprNode& b) {
  const DType dtype = a.type.dtype;
  if (dtype == DType::Float32 || dtype == DType::Float64) {
    const std::optional<double> value =
        dtype == DType::Float32 ? fold_real<float>(op, a.float_value, b.float_value) : fold_real<double>(op, a.float_value, b.float_value);
    if (!value) return std::nullopt;
    return real_node(a.type, *value);
  }
  if (is_standard_float(dtype)) return std::nullopt;
  const std::optional<int64_t> value = fold_integer(dtype, op, a.int_value, b.int_value);
  if (!value) return std::nullopt;
  return integer_node(is_comparison(op) ? Type{DType::Bool, a.type.lanes} : a.type, *value);
}

std::optional<ExprNode> fold_cast(const ExprNode& a, DType dtype) {
  const Type type{dtype, a.type.lanes};
  const bool from_float = is_standard_float(a.type.dtype);
  if (dtype == DType::Bool) return integer_node(type, from_float ? a.float_value != 0 : a.int_value != 0);
  if (!from_float && !is_standard_float(dtype)) return integer_node(type, a.int_value);
  // A double step between 64-bit integers and Float32 would round twice.
  const bool is_exact = !from_float && a.type.dtype != DType::UInt64 && std::abs(a.int_value) < (int64_t{1} << 24);
  if (is_exact && (dtype == DType::Float32 || dtype == DType::Float64)) return real_node(type, static_cast<double>(a.int_value));
  if (a.type.dtype == DType::Float32 && dtype == DType::Float64) return real_node(type, a.float_value);
  if (a.type.dtype == DType::Float64 && dtype == DType::Float32) return real_node(type, static_cast<float>(a.float_value));
  return std::nullopt;
}

}  // namespace tiffin::kernel
