// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalisations over trailing axes.
#include <algorithm>
#include <cmath>

#include "compiler/ops/axes.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

void softmax_row(std::vector<double>& row, Op op) {
  double largest = -HUGE_VAL, sum = 0;
  for (const double value : row) largest = std::isnan(value) ? value : std::max(largest, value);
  for (const double value : row) sum += std::exp(value - largest);
  for (double& value : row) value = op == Op::LogSoftmax ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
}

void hardmax_row(std::vector<double>& row) {
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int64_t>(i) == best;
}

struct Moments {
  double mean = 0, inverse_deviation = 0;
};

// RMSNormalization: mean is 0 and the deviation that from 0.
Moments moments_of(std::span<const double> row, double epsilon, bool is_centred) {
  Moments moments;
  const auto count = static_cast<double>(row.size());
  if (is_centred) {
    for (const double value : row) moments.mean += value;
    moments.mean /= count;
  }
  double variance = 0;
  for (const double value : row) variance += (value - moments.mean) * (value - moments.mean);
  moments.inverse_deviation = 1 / std::sqrt(variance / count + epsilon);
  return moments;
}

template <class T>
Tensor narrowed(DType dtype, const std::vector<int64_t>& shape, const std::vector<double>& values) {
  return store(dtype, shape, std::vector<T>(values.begin(), values.end()));
}

// The operand broadcast to the whole input, or `otherwise` everywhere.
std::vector<double> spread(const Evaluation& e, size_t input, double otherwise) {
  const std::vector<int64_t>& shape = e.inputs[0].shape();
  std::vector<double> out(static_cast<size_t>(graph::num_elements(shape)), otherwise);
  if (!e.has_input(input)) return out;
  const std::vector<double> values = e.inputs[input].to_doubles();
  const std::vector<int64_t> from = broadcast_indices(e.inputs[input].shape(), shape);
  for (size_t i = 0; i < out.size(); ++i) out[i] = values[static_cast<size_t>(from[i])];
  return out;
}

}  // namespace

Result<Tensors> evaluate_softmax(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", -1));
  const AxisView view = view_at_axis(x.shape(), axis);
  std::vector<double> values = x.to_doubles();
  std::vector<double> row(static_cast<size_t>(view.extent));
  for (int64_t r = 0; r < view.outer * view.inner; ++r) {
    const auto at = [&](size_t a) { return static_cast<size_t>(view.at(r / view.inner, static_cast<int64_t>(a), r % view.inner)); };
    for (size_t a = 0; a < row.size(); ++a) row[a] = values[at(a)];
    if (row.empty()) continue;
    if (e.op() == Op::Hardmax)
      hardmax_row(row);
    else
      softmax_row(row, e.op());
    for (size_t a = 0; a < row.size(); ++a) values[at(a)] = row[a];
  }
  Tensors out;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) { out.push_back(narrowed<T>(x.dtype(), x.shape(), values)); });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

Result<Tensors> evaluate_row_normalization(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", -1));
  const bool is_centred = e.op() == Op::LayerNormalization;
  const double epsilon = e.node.float_attribute("epsilon", 1e-5f);
  const std::vector<double> scale = spread(e, 1, 1), bias = spread(e, 2, 0);
  std::vector<double> values = x.to_doubles(), means, deviations;
  const auto row = static_cast<size_t>(graph::num_elements(std::span(x.shape()).subspan(static_cast<size_t>(axis))));
  for (size_t begin = 0; begin < values.size(); begin += row) {
    const Moments moments = moments_of(std::span(values).subspan(begin, row), epsilon, is_centred);
    for (size_t i = begin; i < begin + row; ++i) values[i] = (values[i] - moments.mean) * moments.inverse_deviation * scale[i] + bias[i];
    means.push_back(moments.mean);
    deviations.push_back(moments.inverse_deviation);
  }
  Tensors out;
  if (!visit_float(x.dtype(), [&]<class T>(TypeTag<T>) { out.push_back(narrowed<T>(e.result_dtype(), x.shape(), values)); })) {
    return e.unsupported_type(x.dtype());
  }
  for (size_t i = 1; i < e.node.outputs.size(); ++i) {
    if (!e.has_output(i)) {
      out.emplace_back();
      continue;
    }
    visit_float(e.result_dtype(i),
                [&]<class T>(TypeTag<T>) { out.push_back(narrowed<T>(e.result_dtype(i), e.result_shape(i), i == 1 ? means : deviations)); });
  }
  return out;
}

}  // namespace tiffin::reference
