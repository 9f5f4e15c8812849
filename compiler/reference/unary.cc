// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one tensor. Floats are computed in double and rounded once: the exact result where the function has one.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/reference/evaluation.h"

namespace tiffin::reference {
namespace {

struct Parameters {
  double alpha = 0, beta = 0;
  bool is_approximate = false;
};

Parameters parameters_of(const Node& node) {
  const auto get = [&](double alpha, double beta = 0) {
    return Parameters{node.float_attribute("alpha", alpha), node.float_attribute("beta", beta)};
  };
  switch (node.op) {
    case Op::LeakyRelu:
      return get(0.01f);
    case Op::HardSigmoid:
      return get(0.2f, 0.5);
    case Op::HardSwish:
      return {1.0 / 6, 0.5};
    case Op::Selu:
      return {node.float_attribute("alpha", 1.67326319217681884765625), node.float_attribute("gamma", 1.05070102214813232421875)};
    case Op::Shrink:
      return {node.float_attribute("lambd", 0.5), node.float_attribute("bias", 0)};
    case Op::Gelu:
      return {0, 0, node.string_attribute("approximate", "none") == "tanh"};
    default:
      return get(1);
  }
}

double relu(double x) { return x > 0 || std::isnan(x) ? x : 0; }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double elu(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }

double hard_sigmoid(double x, const Parameters& p) {
  const double y = p.alpha * x + p.beta;
  return std::isnan(y) ? y : std::fmin(std::fmax(y, 0), 1);
}

double gelu(double x, bool is_approximate) {
  if (!is_approximate) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double sign(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

double activation(Op op, double x, const Parameters& p) {
  switch (op) {
    case Op::Celu:
      return x < 0 ? p.alpha * std::expm1(x / p.alpha) : x;
    case Op::Elu:
      return elu(x, p.alpha);
    case Op::Gelu:
      return gelu(x, p.is_approximate);
    case Op::HardSigmoid:
      return hard_sigmoid(x, p);
    case Op::HardSwish:
      return x * hard_sigmoid(x, p);
    case Op::LeakyRelu:
      return x < 0 ? p.alpha * x : x;
    case Op::Mish:
      return x * std::tanh(softplus(x));
    case Op::Relu:
      return relu(x);
    case Op::Selu:
      return p.beta * elu(x, p.alpha);
    case Op::Shrink:
      return x < -p.alpha ? x + p.beta : x > p.alpha ? x - p.beta : 0;
    case Op::Sigmoid:
      return sigmoid(x);
    case Op::Softplus:
      return softplus(x);
    case Op::Softsign:
      return x / (1 + std::fabs(x));
    case Op::Swish:
      return x * sigmoid(p.alpha * x);
    case Op::ThresholdedRelu:
      return x > p.alpha ? x : 0;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

double function(Op op, double x, const Parameters& p) {
  switch (op) {
    case Op::Abs:
      return std::fabs(x);
    case Op::Acos:
      return std::acos(x);
    case Op::Acosh:
      return std::acosh(x);
    case Op::Asin:
      return std::asin(x);
    case Op::Asinh:
      return std::asinh(x);
    case Op::Atan:
      return std::atan(x);
    case Op::Atanh:
      return std::atanh(x);
    case Op::Ceil:
      return std::ceil(x);
    case Op::Cos:
      return std::cos(x);
    case Op::Cosh:
      return std::cosh(x);
    case Op::Erf:
      return std::erf(x);
    case Op::Exp:
      return std::exp(x);
    case Op::Floor:
      return std::floor(x);
    case Op::Log:
      return std::log(x);
    case Op::Neg:
      return -x;
    case Op::Reciprocal:
      return 1 / x;
    case Op::Round:
      return std::nearbyint(x);
    case Op::Sign:
      return sign(x);
    case Op::Sin:
      return std::sin(x);
    case Op::Sinh:
      return std::sinh(x);
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Tan:
      return std::tan(x);
    case Op::Tanh:
      return std::tanh(x);
    default:
      return activation(op, x, p);
  }
}

template <class T>
bool integer_function(Op op, T x, T* out) {
  switch (op) {
    case Op::Abs:
      *out = x < T{0} ? subtract(T{0}, x) : x;
      return true;
    case Op::Neg:
      *out = subtract(T{0}, x);
      return true;
    case Op::Relu:
      *out = x < T{0} ? T{0} : x;
      return true;
    case Op::Sign:
      *out = x < T{0} ? static_cast<T>(-1) : static_cast<T>(x > T{0});
      return true;
    case Op::BitwiseNot:
      *out = static_cast<T>(~widen(x));
      return true;
    default:
      return false;
  }
}

Tensor logical_not(const Tensor& x) {
  std::vector<uint8_t> out = raw_elements<uint8_t>(x);
  for (uint8_t& element : out) element = element == 0;
  return store(DType::Bool, x.shape(), out);
}

}  // namespace

Result<Tensors> evaluate_unary(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  if (e.op() == Op::Not) return one(logical_not(x));
  const Parameters parameters = parameters_of(e.node);
  Tensors out;
  const bool is_float = visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements = load<T>(x);
    for (T& element : elements) element = static_cast<T>(function(e.op(), element, parameters));
    out.push_back(store(x.dtype(), x.shape(), elements));
  });
  if (is_float) return out;
  visit_integer(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements = load<T>(x);
    bool is_known = true;
    for (T& element : elements) is_known = integer_function(e.op(), element, &element) && is_known;
    if (is_known) out.push_back(store(x.dtype(), x.shape(), elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

Result<Tensors> evaluate_clip(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements = load<T>(x);
    for (size_t bound = 1; bound <= 2; ++bound) {
      if (!e.has_input(bound)) continue;
      const T limit = load<T>(e.inputs[bound])[0];
      for (T& element : elements) {
        // A comparison with NaN is false, so a NaN element stays; a NaN bound makes everything NaN, as Max and Min do.
        if (bound == 1 ? element < limit : element > limit) element = limit;
        if (limit != limit) element = limit;
      }
    }
    out.push_back(store(x.dtype(), x.shape(), elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

Result<Tensors> evaluate_predicate(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  const bool detects_negative = e.node.int_attribute("detect_negative", 1) != 0;
  const bool detects_positive = e.node.int_attribute("detect_positive", 1) != 0;
  Tensors out;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<uint8_t> flags;
    for (const T element : load<T>(x)) {
      const bool is_wanted = element < 0 ? detects_negative : detects_positive;
      flags.push_back(e.op() == Op::IsNaN ? std::isnan(element) : std::isinf(element) && is_wanted);
    }
    out.push_back(store(DType::Bool, x.shape(), flags));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace tiffin::reference
