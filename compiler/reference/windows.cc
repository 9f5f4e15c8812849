// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools of any spatial rank.
#include <cmath>
#include <limits>

#include "compiler/ops/window.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

// The input position that kernel tap `tap` of output position `at` reads, as an index into the spatial axes; -1 in the padding.
int64_t tap_position(const ops::Window& window, const std::vector<int64_t>& at, const std::vector<int64_t>& tap) {
  int64_t index = 0;
  for (size_t i = 0; i < window.spatial_rank(); ++i) {
    const int64_t position = at[i] * window.strides[i] + tap[i] * window.dilations[i] - window.pads_begin[i];
    if (position < 0 || position >= window.input[i]) return -1;
    index = index * window.input[i] + position;
  }
  return index;
}

// True if the tap lies in the input or its padding, and not beyond, where ceil_mode lets the last window reach.
bool is_within_padding(const ops::Window& window, const std::vector<int64_t>& at, const std::vector<int64_t>& tap) {
  for (size_t i = 0; i < window.spatial_rank(); ++i) {
    const int64_t position = at[i] * window.strides[i] + tap[i] * window.dilations[i] - window.pads_begin[i];
    if (position >= window.input[i] + window.pads_end[i]) return false;
  }
  return true;
}

// tap_position of every output position, by tap.
std::vector<std::vector<int64_t>> all_tap_positions(const ops::Window& window) {
  std::vector<std::vector<int64_t>> positions;
  for (Coordinates tap(window.kernel); !tap.is_done(); tap.next()) {
    std::vector<int64_t>& here = positions.emplace_back();
    for (Coordinates at(window.output); !at.is_done(); at.next()) here.push_back(tap_position(window, at.all(), tap.all()));
  }
  return positions;
}

// x [N, C, input…], w [M, C / group, kernel…] -> [N, M, output…], sums unrounded.
template <class T>
std::vector<Accumulator<T>> convolve(const std::vector<T>& x, const std::vector<T>& w, const ops::Window& window, int64_t batch, int64_t channels,
                                     int64_t filters) {
  const int64_t inputs = graph::num_elements(window.input), taps = graph::num_elements(window.kernel);
  const int64_t group_channels = channels / window.group, group_filters = filters / window.group;
  const size_t outputs = static_cast<size_t>(graph::num_elements(window.output));
  const std::vector<std::vector<int64_t>> positions = all_tap_positions(window);
  std::vector<Accumulator<T>> out(static_cast<size_t>(batch * filters) * outputs);
  for (int64_t nm = 0; nm < batch * filters; ++nm) {
    const int64_t n = nm / filters, m = nm % filters, first_channel = m / group_filters * group_channels;
    Accumulator<T>* sums = out.data() + static_cast<size_t>(nm) * outputs;
    for (int64_t ct = 0; ct < group_channels * taps; ++ct) {
      const T* plane = x.data() + (n * channels + first_channel + ct / taps) * inputs;
      const Accumulator<T> weight = accumulated(w[static_cast<size_t>(m * group_channels * taps + ct)]);
      const std::vector<int64_t>& from = positions[static_cast<size_t>(ct % taps)];
      for (size_t i = 0; i < outputs; ++i) {
        if (from[i] >= 0) sums[i] += accumulated(plane[from[i]]) * weight;
      }
    }
  }
  return out;
}

std::vector<int32_t> without_zero_point(const Tensor& x, const Tensor& zero_point) {
  const std::vector<int64_t> values = x.to_int64s();
  std::vector<int32_t> out(values.begin(), values.end());
  if (zero_point.is_empty()) return out;
  const std::vector<int64_t> zeros = zero_point.to_int64s();
  const size_t run = out.size() / std::max<size_t>(zeros.size(), 1);  // per filter: the first axis of w
  for (size_t i = 0; i < out.size(); ++i) out[i] -= static_cast<int32_t>(zeros[i / run]);
  return out;
}

template <class T>
std::vector<T> with_bias(const std::vector<Accumulator<T>>& sums, const std::vector<T>& bias, int64_t outputs) {
  std::vector<T> out;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Accumulator<T> b = bias.empty() ? Accumulator<T>{} : accumulated(bias[i / static_cast<size_t>(outputs) % bias.size()]);
    out.push_back(static_cast<T>(sums[i] + b));
  }
  return out;
}

// The inverse of a convolution's reading: every input element is added, weighted, where the kernel puts it.
template <class T>
std::vector<Accumulator<T>> spread_out(const std::vector<T>& x, const std::vector<T>& w, const ops::Window& window, int64_t batch, int64_t channels,
                                       int64_t filters) {
  const int64_t inputs = graph::num_elements(window.input), outputs = graph::num_elements(window.output), taps = graph::num_elements(window.kernel);
  const int64_t group_channels = channels / window.group, group_filters = filters / window.group;
  const std::vector<int64_t> strides = graph::row_major_strides(window.output);
  std::vector<Accumulator<T>> out(static_cast<size_t>(batch * filters * outputs));
  for (int64_t nc = 0; nc < batch * channels; ++nc) {
    const int64_t n = nc / channels, c = nc % channels, first_filter = c / group_channels * group_filters;
    for (Coordinates at(window.input); !at.is_done(); at.next()) {
      const Accumulator<T> value = accumulated(x[static_cast<size_t>(nc * inputs + at.index())]);
      for (Coordinates tap(window.kernel); !tap.is_done(); tap.next()) {
        int64_t target = 0;
        bool is_inside = true;
        for (size_t i = 0; i < window.spatial_rank(); ++i) {
          const int64_t position = at[i] * window.strides[i] + tap[i] * window.dilations[i] - window.pads_begin[i];
          is_inside = is_inside && position >= 0 && position < window.output[i];
          target += position * strides[i];
        }
        if (!is_inside) continue;
        for (int64_t f = 0; f < group_filters; ++f) {
          const T weight = w[static_cast<size_t>((c * group_filters + f) * taps + tap.index())];
          out[static_cast<size_t>((n * filters + first_filter + f) * outputs + target)] += value * accumulated(weight);
        }
      }
    }
  }
  return out;
}

template <class T>
struct Pooled {
  std::vector<T> values;
  std::vector<int64_t> indices;  // of the maximum, in the whole of x
};

template <class T>
void max_of_window(const T* x, int64_t first, const ops::Window& window, const std::vector<int64_t>& at, bool is_column_major, Pooled<T>& out) {
  T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  int64_t best_position = -1;
  for (Coordinates tap(window.kernel); !tap.is_done(); tap.next()) {
    const int64_t position = tap_position(window, at, tap.all());
    if (position < 0) continue;
    const T value = x[first + position];
    if (best_position >= 0 && !(value > best || (value != value && best == best))) continue;
    best = value;
    best_position = position;
  }
  int64_t index = best_position;
  if (is_column_major && best_position >= 0) {
    int64_t rest = best_position, row_major_size = graph::num_elements(window.input), stride = 1;
    index = 0;
    for (const int64_t extent : window.input) {
      row_major_size /= extent;
      index += rest / row_major_size * stride;
      rest %= row_major_size;
      stride *= extent;
    }
  }
  out.values.push_back(best);
  out.indices.push_back(first + index);
}

// Average: the sum over the window divided by the taps in the input, or in its padding too. LpPool: the p-norm.
double mean_of_window(const double* x, const ops::Window& window, const std::vector<int64_t>& at, bool counts_padding, int64_t p) {
  double sum = 0;
  int64_t count = 0;
  for (Coordinates tap(window.kernel); !tap.is_done(); tap.next()) {
    const int64_t position = tap_position(window, at, tap.all());
    if (position < 0) {
      count += counts_padding && is_within_padding(window, at, tap.all());
      continue;
    }
    ++count;
    sum += p == 0 ? x[position] : std::pow(std::fabs(x[position]), static_cast<double>(p));
  }
  if (p != 0) return std::pow(sum, 1 / static_cast<double>(p));
  return sum / static_cast<double>(count);
}

}  // namespace

Result<Tensors> evaluate_convolution(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Window window, ops::window_of(e.graph, e.node));
  const std::vector<int64_t> shape = e.result_shape();
  const int64_t channels = e.inputs[0].shape()[1], outputs = graph::num_elements(window.output);
  if (e.op() == Op::ConvInteger) {
    const std::vector<int32_t> x = without_zero_point(e.inputs[0], e.has_input(2) ? e.inputs[2] : Tensor());
    const std::vector<int32_t> w = without_zero_point(e.inputs[1], e.has_input(3) ? e.inputs[3] : Tensor());
    return one(store(DType::Int32, shape, with_bias<int32_t>(convolve(x, w, window, shape[0], channels, shape[1]), {}, outputs)));
  }
  Tensors out;
  visit_number(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> bias = e.has_input(2) ? load<T>(e.inputs[2]) : std::vector<T>();
    const auto sums = convolve(load<T>(e.inputs[0]), load<T>(e.inputs[1]), window, shape[0], channels, shape[1]);
    out.push_back(store(e.result_dtype(), shape, with_bias(sums, bias, outputs)));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

Result<Tensors> evaluate_transposed_convolution(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Window window, ops::window_of(e.graph, e.node));
  const std::vector<int64_t> shape = e.result_shape();
  const int64_t channels = e.inputs[0].shape()[1];
  Tensors out;
  visit_number(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> bias = e.has_input(2) ? load<T>(e.inputs[2]) : std::vector<T>();
    const auto sums = spread_out(load<T>(e.inputs[0]), load<T>(e.inputs[1]), window, shape[0], channels, shape[1]);
    out.push_back(store(e.result_dtype(), shape, with_bias(sums, bias, graph::num_elements(window.output))));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

Result<Tensors> evaluate_pool(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Window window, ops::window_of(e.graph, e.node));
  const Tensor& x = e.inputs[0];
  const int64_t planes = x.shape()[0] * x.shape()[1], inputs = graph::num_elements(window.input);
  const bool is_maximum = e.op() == Op::MaxPool || e.op() == Op::GlobalMaxPool;
  const bool counts_padding = e.node.int_attribute("count_include_pad", 0) != 0;
  const bool is_column_major = e.node.int_attribute("storage_order", 0) != 0;
  const int64_t p = e.op() == Op::LpPool ? e.node.int_attribute("p", 2) : 0;
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> elements = load<T>(x);
    const std::vector<double> doubles(elements.begin(), elements.end());
    Pooled<T> pooled;
    for (int64_t plane = 0; plane < planes; ++plane) {
      for (Coordinates at(window.output); !at.is_done(); at.next()) {
        if (is_maximum)
          max_of_window(elements.data(), plane * inputs, window, at.all(), is_column_major, pooled);
        else
          pooled.values.push_back(static_cast<T>(mean_of_window(doubles.data() + plane * inputs, window, at.all(), counts_padding, p)));
      }
    }
    out.push_back(store(x.dtype(), e.result_shape(), pooled.values));
    if (e.has_output(1)) out.push_back(store(DType::Int64, e.result_shape(1), pooled.indices));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace tiffin::reference
