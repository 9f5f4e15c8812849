// SPDX-License-Identifier: Apache-2.0
#include "compiler/golden/error_estimate.h"

#include <algorithm>
#include <cmath>

#include "base/golden/compare.h"
#include "compiler/ops/op_class.h"

namespace tiffin::golden {
namespace {

using graph::Node;
using graph::Op;
using graph::Tensor;

// Half the distance of 1 to the next number.
double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 0x1p-53;
    case DType::Float16:
      return 0x1p-11;
    case DType::BFloat16:
      return 0x1p-8;
    case DType::Float32:
      return 0x1p-24;
    default:
      return 0;
  }
}

// Of what kernels compute in.
double compute_roundoff(DType dtype) { return std::min(unit_roundoff(dtype), 0x1p-24); }

Estimate measure(const Tensor& tensor) {
  tiffin_golden_sketch sketch{};
  take_sketch(tensor.dtype(), tensor.bytes(), &sketch);
  const double count = static_cast<double>(sketch.elements - sketch.not_finite);
  if (count == 0) return {};
  const double mean = sketch.sum / count, square = sketch.sum_squares / count;
  return {0, std::sqrt(square), std::sqrt(std::max(0.0, square - mean * mean))};
}

// One node's operands (exact ones of zeros for omitted inputs), and the size of its result.
struct Operation {
  const Node& node;
  std::span<const Tensor> inputs;
  std::vector<Estimate> operands;
  const Tensor& result;
  Estimate out;  // its error is not known yet

  double roundoff() const { return compute_roundoff(result.dtype()); }
  // Terms of a sum that each result element is: of a reduction or window.
  double ratio() const {
    return std::max(1.0, static_cast<double>(inputs[0].num_elements()) / static_cast<double>(std::max<int64_t>(1, result.num_elements())));
  }
};

double terms_of_product(const Operation& at) {
  const std::vector<int64_t>&x = at.inputs[0].shape(), &w = at.inputs[1].shape();
  const auto elements = static_cast<double>(at.inputs[1].num_elements());
  const auto over = [&](int64_t features) { return elements / static_cast<double>(std::max<int64_t>(1, features)); };
  switch (at.node.op) {
    case Op::Conv:
    case Op::ConvInteger:
      return over(w[0]);
    case Op::ConvTranspose:
      return over(w[1]);
    case Op::BlockedConv:
    case Op::BlockedDepthwiseConv:
      return over(w.front() * w.back());
    case Op::Gemm:
      return over(at.result.shape().back());
    default:
      return x.empty() ? 1 : static_cast<double>(x.back());
  }
}

// Errors of different elements are nearly independent: a sum of K terms has them as a random walk. A part may be common to all and stays in
// proportion to the result.
constexpr double kCommonPart = 0.25;

// Of K additions, whose partial sums are as large as a random walk of the terms or, when all have one sign, as the result. A rounding error is a
// third of its bound on average.
double rounding_of_sum(const Operation& at, double terms, double term_rms) {
  return 0.3 * at.roundoff() * std::sqrt(terms) * std::max(std::sqrt(terms) * term_rms, at.out.rms);
}

double error_of_product(const Operation& at) {
  const Estimate &a = at.operands[0], &b = at.operands[1];
  const double terms = terms_of_product(at);
  const double independent = std::sqrt(terms) * std::hypot(a.error * b.rms, a.rms * b.error);
  const double common = kCommonPart * std::hypot(a.relative(), b.relative()) * at.out.rms;
  const double added = at.operands.size() > 2 ? at.operands[2].error : 0;
  return std::hypot(std::max(independent, common), added, rounding_of_sum(at, terms, a.rms * b.rms));
}

double error_of_sum(const Operation& at, double terms) {
  const Estimate& x = at.operands[0];
  const double passed = std::max(std::sqrt(terms) * x.error, kCommonPart * x.relative() * at.out.rms);
  return std::hypot(passed, rounding_of_sum(at, terms, x.rms));
}

double error_of_mean(const Operation& at) {
  const Estimate& x = at.operands[0];
  const double terms = at.ratio();
  const double passed = std::max(x.error / std::sqrt(terms), kCommonPart * x.relative() * at.out.rms);
  return std::hypot(passed, rounding_of_sum(at, terms, x.rms / terms));
}

// Errors of shifted operands stay absolute: what is left after a cancellation has them in full.
double error_of_addition(const Operation& at) {
  double square = 0;
  for (const Estimate& operand : at.operands) square += operand.error * operand.error;
  return std::sqrt(square);
}

double error_of_factors(const Operation& at) {
  double square = 0;
  for (const Estimate& operand : at.operands) square += operand.relative() * operand.relative();
  return std::sqrt(square) * at.out.rms;
}

// What an activation function sets to zero has no error any more.
double error_of_activation(const Operation& at) {
  const Estimate& x = at.operands[0];
  return std::min(x.error, x.relative() * at.out.rms * 1.1);
}

// Flat where the operand is large, which is where errors would count most in a product with it.
double error_of_saturation(const Operation& at, double steepest) {
  const Estimate& x = at.operands[0];
  return x.error * steepest / std::max(1.0, x.rms * x.rms) + 2 * at.roundoff() * at.out.rms;
}

double error_of_normalisation(const Operation& at) {
  const Estimate& x = at.operands[0];
  const double gain = x.spread > 0 ? std::max(1.0, x.rms / x.spread) : 1;
  const auto row = static_cast<double>(at.inputs[0].shape().empty() ? 1 : at.inputs[0].shape().back());
  return (x.relative() * gain + at.roundoff() * (std::sqrt(row) + gain * 4)) * at.out.rms;
}

// Errors of all time steps, each as small as a matrix product's.
double error_of_recurrence(const Operation& at) {
  const auto& x = at.inputs[0].shape();
  const double steps = x.empty() ? 1 : static_cast<double>(std::max(x[0], x.size() > 1 ? x[1] : 1));
  const double terms = static_cast<double>(x.empty() ? 1 : x.back()) + static_cast<double>(at.result.shape().empty() ? 1 : at.result.shape().back());
  double passed = 0;
  for (const Estimate& operand : at.operands) passed = std::max(passed, operand.relative());
  return (4 * passed + at.roundoff() * steps * std::sqrt(terms)) * std::max(at.out.rms, 0.1);
}

// A value next to a border goes to the other side for an error however small.
double error_of_steps(const Operation& at) {
  const double error = at.operands[0].error;
  return error > 0 ? std::max(0.125, error) : 0;
}

double error_of_cast(const Operation& at) {
  const bool cuts = is_standard_float(at.inputs[0].dtype()) && is_standard_int(at.result.dtype());
  return cuts ? error_of_steps(at) : at.operands[0].error;
}

// For everything else: a function that neither stretches differences nor proportions by much.
double error_of_function(const Operation& at) {
  double error = 0;
  for (const Estimate& operand : at.operands) error = std::max({error, operand.error, operand.relative() * at.out.rms});
  const bool is_movement = ops::op_class(at.node.op) == ops::OpClass::Movement || ops::op_class(at.node.op) == ops::OpClass::View;
  if (!is_movement) return error + 4 * at.roundoff() * at.out.rms;
  for (const Estimate& operand : at.operands) error = std::max(error, operand.error);
  return error;
}

double largest_error(const Operation& at) {
  double error = 0;
  for (const Estimate& operand : at.operands) error = std::max(error, operand.error);
  return error;
}

bool is_product(Op op) {
  switch (op) {
    case Op::MatMul:
    case Op::PackedMatMul:
    case Op::Gemm:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::BlockedConv:
    case Op::BlockedDepthwiseConv:
    case Op::MatMulInteger:
    case Op::ConvInteger:
      return true;
    default:
      return false;
  }
}

double error_of(const Operation& at) {
  if (is_product(at.node.op)) return error_of_product(at);
  switch (at.node.op) {
    case Op::ReduceSum:
    case Op::ReduceL1:
    case Op::ReduceSumSquare:
    case Op::LpPool:
      return error_of_sum(at, at.ratio());
    case Op::CumSum:
      return error_of_sum(at, static_cast<double>(*std::max_element(at.inputs[0].shape().begin(), at.inputs[0].shape().end())));
    case Op::ReduceMean:
    case Op::AveragePool:
    case Op::GlobalAveragePool:
      return error_of_mean(at);
    case Op::Add:
    case Op::Sub:
    case Op::Sum:
      return error_of_addition(at);
    case Op::Mul:
    case Op::Div:
      return error_of_factors(at);
    case Op::Exp:
    case Op::Softmax:
      return (std::min(1.0, at.operands[0].error) + 4 * at.roundoff()) * at.out.rms;
    case Op::Log:
      return at.operands[0].relative() + 4 * at.roundoff() * at.out.rms;
    case Op::Pow:
      return (at.operands[0].relative() * std::max(1.0, at.operands[1].rms) + 8 * at.roundoff()) * at.out.rms;
    case Op::LayerNormalization:
    case Op::RMSNormalization:
      return error_of_normalisation(at);
    case Op::LSTM:
    case Op::GRU:
    case Op::RNN:
      return error_of_recurrence(at);
    case Op::Round:
    case Op::Floor:
    case Op::Ceil:
      return error_of_steps(at);
    case Op::Cast:
      return error_of_cast(at);
    case Op::ArgMax:
    case Op::ArgMin:
    case Op::Shape:
    case Op::Size:
    case Op::NonZero:
      return 0;
    case Op::Relu:
    case Op::Clip:
    case Op::LeakyRelu:
    case Op::Gelu:
    case Op::Swish:
    case Op::HardSwish:
      return error_of_activation(at);
    case Op::Sigmoid:
    case Op::HardSigmoid:
      return error_of_saturation(at, 0.25);
    case Op::Tanh:
    case Op::Softsign:
    case Op::Erf:
      return error_of_saturation(at, 1.0);
    case Op::Sqrt:
      return at.operands[0].relative() / 2 * at.out.rms;
    case Op::Max:
    case Op::Min:
    case Op::Concat:
    case Op::MaxPool:
    case Op::ReduceMax:
    case Op::ReduceMin:
      return largest_error(at);
    default:
      return error_of_function(at);
  }
}

}  // namespace

Estimate ErrorEstimate::operand(graph::ValueId value, const Tensor& tensor) {
  if (value == graph::kNone) return {};
  const auto index = static_cast<size_t>(value);
  if (is_measured_[index] == 0) values_[index] = measure(tensor);
  is_measured_[index] = 1;
  return values_[index];
}

void ErrorEstimate::observe(const Node& node, std::span<const Tensor> inputs, std::span<const Tensor> results) {
  std::vector<Estimate> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(operand(node.inputs[i], inputs[i]));
  for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (node.outputs[i] == graph::kNone) continue;
    const auto index = static_cast<size_t>(node.outputs[i]);
    Estimate out = measure(results[i]);
    const DType dtype = results[i].dtype();
    const bool is_index = i > 0 && (node.op == Op::TopK || node.op == Op::MaxPool);
    if (!inputs.empty() && dtype != DType::Bool && !is_index) {
      const double error = error_of({node, inputs, operands, results[i], out});
      const bool is_rounded = ops::op_class(node.op) == ops::OpClass::Elementwise || ops::op_class(node.op) == ops::OpClass::Heavy;
      out.error = is_rounded && node.op != Op::Relu && node.op != Op::MaxPool ? std::hypot(error, unit_roundoff(dtype) * out.rms) : error;
    }
    values_[index] = out;
    is_measured_[index] = 1;
  }
}

tiffin_golden_tolerance tolerance_of(DType dtype, const Estimate& estimate) {
  constexpr double kSafety = 16, kMostRelative = 0.25;
  if (!(estimate.error > 0)) return {0, 0, 0};
  // An estimate beyond the tensor's own scale says nothing any more; what is left of a cancellation may still be rounding alone.
  constexpr double kMostOfScale = 4;
  const double most = estimate.rms > 0 ? kMostOfScale * estimate.rms : 1e30;
  const double absolute = std::min(kSafety * estimate.error, most);
  if (!is_standard_float(dtype)) return {0, 0, std::max(1.0, std::floor(absolute))};
  const double least = kSafety * unit_roundoff(dtype);
  return {4, std::clamp(kSafety * estimate.relative(), least, kMostRelative), absolute};
}

}  // namespace tiffin::golden
