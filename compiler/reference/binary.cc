// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of two and more tensors with broadcasting.
#include <cmath>

#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

template <class In, class Out, class Function>
std::vector<Out> broadcast(const Tensor& a, const Tensor& b, const std::vector<int64_t>& shape, Function&& function) {
  const std::vector<In> a_elements = load<In>(a), b_elements = load<In>(b);
  const std::vector<int64_t> a_at = broadcast_indices(a.shape(), shape), b_at = broadcast_indices(b.shape(), shape);
  std::vector<Out> out(a_at.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = function(a_elements[static_cast<size_t>(a_at[i])], b_elements[static_cast<size_t>(b_at[i])]);
  }
  return out;
}

template <class T>
T divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a / b;
  else if (b == T{0})
    return T{0};
  else if constexpr (std::is_signed_v<T>)
    return b == T{-1} ? subtract(T{0}, a) : static_cast<T>(a / b);
  else
    return static_cast<T>(a / b);
}

// fmod = 0: the sign of the divisor (floats as well, as Python's %); fmod = 1: the sign of the dividend.
template <class T>
T modulo(T a, T b, bool has_sign_of_dividend) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(a, b);
    if (has_sign_of_dividend) return rest;
    if (rest == 0) return std::copysign(T{0}, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const T rest = subtract(a, multiply(divide(a, b), b));
    if (b == T{0}) return T{0};
    return !has_sign_of_dividend && rest != 0 && (rest < 0) != (b < 0) ? add(rest, b) : rest;
  }
}

template <class T>
T integer_power(T base, T exponent) {
  if (exponent < T{0}) {  // 1 / base^n truncated
    if (base == T{1}) return T{1};
    if (base == static_cast<T>(-1)) return (exponent & 1) != 0 ? base : T{1};
    return T{0};
  }
  T power{1};
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) power = multiply(power, base);
    base = multiply(base, base);
  }
  return power;
}

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>)
    return integer_power(base, exponent);
  else
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

// NaN if either is; of -0 and +0 the maximum is +0 and the minimum -0.
template <class T>
T maximum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <class T>
T shift(T value, T count, bool is_left) {
  if constexpr (std::is_integral_v<T>) {
    if (static_cast<uint64_t>(count) >= sizeof(T) * 8) return !is_left && value < T{0} ? static_cast<T>(-1) : T{0};
    return is_left ? static_cast<T>(widen(value) << count) : static_cast<T>(value >> count);
  } else {
    return value;
  }
}

template <class T>
T bitwise(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (op == Op::BitwiseAnd) return static_cast<T>(a & b);
    if (op == Op::BitwiseOr) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
  } else {
    return a;
  }
}

struct Mode {
  bool has_sign_of_dividend = false, is_left = false;
};

template <class T>
T arithmetic(Op op, T a, T b, Mode mode) {
  switch (op) {
    case Op::Mean:
    case Op::Sum:
    case Op::Add:
      return add(a, b);
    case Op::Sub:
      return subtract(a, b);
    case Op::Mul:
      return multiply(a, b);
    case Op::Div:
      return divide(a, b);
    case Op::Mod:
      return modulo(a, b, mode.has_sign_of_dividend);
    case Op::Pow:
      return power(a, b);
    case Op::Max:
      return maximum(a, b);
    case Op::Min:
      return minimum(a, b);
    case Op::PRelu:
      return a < T{0} ? multiply(a, b) : a;
    case Op::BitShift:
      return shift(a, b, mode.is_left);
    default:
      return bitwise(op, a, b);
  }
}

template <class T>
bool compares(Op op, T a, T b) {
  switch (op) {
    case Op::Less:
      return a < b;
    case Op::LessOrEqual:
      return a <= b;
    case Op::Greater:
      return a > b;
    case Op::GreaterOrEqual:
      return a >= b;
    default:
      return a == b;
  }
}

// Pow of two element types: in double, then as the base's type; for integer exponents the same as repeated multiplication up to 2^53.
Tensors mixed_power(const Evaluation& e) {
  const Tensor &base = e.inputs[0], &exponent = e.inputs[1];
  const std::vector<double> bases = base.to_doubles(), exponents = exponent.to_doubles();
  const std::vector<int64_t> shape = e.result_shape();
  const std::vector<int64_t> base_at = broadcast_indices(base.shape(), shape), exponent_at = broadcast_indices(exponent.shape(), shape);
  Tensors out;
  visit_number(base.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (size_t i = 0; i < base_at.size(); ++i) {
      elements.push_back(static_cast<T>(std::pow(bases[static_cast<size_t>(base_at[i])], exponents[static_cast<size_t>(exponent_at[i])])));
    }
    out.push_back(store(base.dtype(), shape, elements));
  });
  return out;
}

}  // namespace

Result<Tensors> evaluate_binary(const Evaluation& e) {
  const DType dtype = e.inputs[0].dtype();
  if (e.op() == Op::Pow && e.inputs[1].dtype() != dtype) {
    Tensors out = mixed_power(e);
    if (out.empty()) return e.unsupported_type(dtype);
    return out;
  }
  const Mode mode{e.node.int_attribute("fmod", 0) != 0, e.node.string_attribute("direction", "LEFT") == "LEFT"};
  Tensor sum = e.inputs[0];  // of the inputs so far: Max, Min, Sum and Mean have any number
  bool is_known = true;
  for (const Tensor& operand : e.inputs.subspan(1)) {
    const std::vector<int64_t> shape = broadcast_shape(sum.shape(), operand.shape());
    is_known = is_known && visit_number(dtype, [&]<class T>(TypeTag<T>) {
                 sum = store(dtype, shape, broadcast<T, T>(sum, operand, shape, [&](T a, T b) { return arithmetic(e.op(), a, b, mode); }));
               });
  }
  if (is_known && e.op() == Op::Mean) {
    is_known = visit_float(dtype, [&]<class T>(TypeTag<T>) {
      std::vector<T> elements = load<T>(sum);
      for (T& element : elements) element /= static_cast<T>(e.inputs.size());
      sum = store(dtype, sum.shape(), elements);
    });
  }
  if (!is_known) return e.unsupported_type(dtype);
  return one(sum);
}

Result<Tensors> evaluate_comparison(const Evaluation& e) {
  const std::vector<int64_t> shape = e.result_shape();
  Tensors out;
  visit_any(e.inputs[0].dtype(), [&]<class T>(TypeTag<T>) {
    const auto compare = [&](T a, T b) { return static_cast<uint8_t>(compares(e.op(), a, b)); };
    out.push_back(store(DType::Bool, shape, broadcast<T, uint8_t>(e.inputs[0], e.inputs[1], shape, compare)));
  });
  if (out.empty()) return e.unsupported_type(e.inputs[0].dtype());
  return out;
}

Result<Tensors> evaluate_logic(const Evaluation& e) {
  const std::vector<int64_t> shape = e.result_shape();
  const auto combine = [&](uint8_t a, uint8_t b) -> uint8_t {
    if (e.op() == Op::And) return a != 0 && b != 0;
    if (e.op() == Op::Or) return a != 0 || b != 0;
    return (a != 0) != (b != 0);
  };
  return one(store(DType::Bool, shape, broadcast<uint8_t, uint8_t>(e.inputs[0], e.inputs[1], shape, combine)));
}

Result<Tensors> evaluate_where(const Evaluation& e) {
  const std::vector<int64_t> shape = e.result_shape();
  const Tensor& condition = e.inputs[0];
  const std::vector<int64_t> c_at = broadcast_indices(condition.shape(), shape);
  const std::vector<int64_t> x_at = broadcast_indices(e.inputs[1].shape(), shape), y_at = broadcast_indices(e.inputs[2].shape(), shape);
  Tensors out;
  visit_bits(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements(c_at.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = condition.at<uint8_t>(c_at[i]) != 0 ? e.inputs[1].at<T>(x_at[i]) : e.inputs[2].at<T>(y_at[i]);
    }
    out.push_back(Tensor::from<T>(e.result_dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

}  // namespace tiffin::reference
