// SPDX-License-Identifier: Apache-2.0
// Reductions along axes, the position of the extreme, running sums and products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/axes.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

// For every element of x the index of the result it goes to.
std::vector<int64_t> result_indices(const std::vector<int64_t>& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> kept = shape;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  return broadcast_indices(kept, shape);
}

// One result being formed. Sums are exact to double; of integers they wrap in 64 bits, which wraps in every smaller type.
template <class T>
struct Folding {
  Accumulator<T> sum{}, sum_of_squares{}, sum_of_magnitudes{}, product{1};
  double sum_of_exponentials = 0;
  T maximum = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  T minimum = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  int64_t count = 0;

  void take(T value) {
    const Accumulator<T> wide = accumulated(value);
    sum += wide;
    sum_of_squares += wide * wide;
    sum_of_magnitudes += value < T{0} ? -wide : wide;
    product *= wide;
    if (value > maximum || value != value) maximum = value;
    if (value < minimum || value != value) minimum = value;
    ++count;
  }

  // The magnitude of a wrapped integer accumulator as T sees it.
  static double as_double(Accumulator<T> value) {
    if constexpr (std::is_floating_point_v<T>)
      return value;
    else
      return static_cast<double>(static_cast<int64_t>(value));
  }

  T mean() const {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(sum / static_cast<double>(count));
    else if constexpr (std::is_signed_v<T>)
      return count == 0 ? T{0} : static_cast<T>(static_cast<int64_t>(sum) / count);
    else
      return count == 0 ? T{0} : static_cast<T>(sum / static_cast<uint64_t>(count));
  }

  T result(Op op) const {
    switch (op) {
      case Op::ReduceL1:
        return static_cast<T>(sum_of_magnitudes);
      case Op::ReduceL2:
        return static_cast<T>(std::sqrt(as_double(sum_of_squares)));
      case Op::ReduceLogSum:
        return static_cast<T>(std::log(as_double(sum)));
      case Op::ReduceLogSumExp:
        return static_cast<T>(log_sum_exp());
      case Op::ReduceMax:
        return maximum;
      case Op::ReduceMin:
        return minimum;
      case Op::ReduceMean:
        return mean();
      case Op::ReduceProd:
        return static_cast<T>(product);
      case Op::ReduceSumSquare:
        return static_cast<T>(sum_of_squares);
      default:
        return static_cast<T>(sum);
    }
  }

  double offset() const { return std::isfinite(static_cast<double>(maximum)) ? static_cast<double>(maximum) : 0; }
  double log_sum_exp() const { return std::log(sum_of_exponentials) + offset(); }
};

template <class T>
std::vector<T> reduce(Op op, const std::vector<T>& elements, const std::vector<int64_t>& to, int64_t result_count) {
  std::vector<Folding<T>> foldings(static_cast<size_t>(result_count));
  for (size_t i = 0; i < elements.size(); ++i) foldings[static_cast<size_t>(to[i])].take(elements[i]);
  if (op == Op::ReduceLogSumExp) {
    for (size_t i = 0; i < elements.size(); ++i) {
      Folding<T>& folding = foldings[static_cast<size_t>(to[i])];
      folding.sum_of_exponentials += std::exp(static_cast<double>(elements[i]) - folding.offset());
    }
  }
  std::vector<T> out;
  for (const Folding<T>& folding : foldings) out.push_back(folding.result(op));
  return out;
}

// Of bools: Max is "any", Min is "all"; they are 0 and 1 in the computing type, but the identities differ.
void clamp_to_bool(std::vector<uint8_t>& flags) {
  for (uint8_t& flag : flags) flag = flag != 0;
}

// Whether `candidate` takes the place of `best`; a NaN wins over numbers and keeps its place against a later one.
template <class T>
bool is_better(T candidate, T best, bool wants_maximum, bool takes_last) {
  if (best != best) return takes_last && candidate != candidate;
  if (candidate != candidate) return true;
  if (candidate == best) return takes_last;
  return wants_maximum ? candidate > best : candidate < best;
}

template <class T>
int64_t extreme_position(const std::vector<T>& x, const AxisView& view, int64_t o, int64_t i, bool wants_maximum, bool takes_last) {
  int64_t best = 0;
  for (int64_t a = 1; a < view.extent; ++a) {
    const T candidate = x[static_cast<size_t>(view.at(o, a, i))];
    if (is_better(candidate, x[static_cast<size_t>(view.at(o, best, i))], wants_maximum, takes_last)) best = a;
  }
  return best;
}

}  // namespace

Result<Tensors> evaluate_reduction(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ops::reduction_axes(e.graph, e.node));
  const std::vector<int64_t> to = result_indices(x.shape(), axes);
  const std::vector<int64_t> shape = e.result_shape();
  Tensors out;
  visit_any(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements = reduce<T>(e.op(), load<T>(x), to, graph::num_elements(shape));
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (x.dtype() == DType::Bool) clamp_to_bool(elements);
    }
    out.push_back(store(x.dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

Result<Tensors> evaluate_arg_reduction(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  const AxisView view = view_at_axis(x.shape(), axis);
  const bool takes_last = e.node.int_attribute("select_last_index", 0) != 0;
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> elements = load<T>(x);
    std::vector<int64_t> positions;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) positions.push_back(extreme_position(elements, view, o, i, e.op() == Op::ArgMax, takes_last));
    }
    out.push_back(store(DType::Int64, e.result_shape(), positions));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

Result<Tensors> evaluate_cumulation(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::normalized_axis(e.graph, e.node, e.inputs[1].to_int64s()[0], static_cast<int64_t>(x.rank())));
  const AxisView view = view_at_axis(x.shape(), axis);
  const bool is_exclusive = e.node.int_attribute("exclusive", 0) != 0, is_reverse = e.node.int_attribute("reverse", 0) != 0;
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> elements = load<T>(x);
    std::vector<T> sums(elements.size());
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      auto sum = static_cast<Accumulator<T>>(e.op() == Op::CumProd ? 1 : 0);
      for (int64_t step = 0; step < view.extent; ++step) {
        const auto at = static_cast<size_t>(view.at(row / view.inner, is_reverse ? view.extent - 1 - step : step, row % view.inner));
        const Accumulator<T> before = sum;
        sum = e.op() == Op::CumProd ? sum * accumulated(elements[at]) : sum + accumulated(elements[at]);
        sums[at] = static_cast<T>(is_exclusive ? before : sum);
      }
    }
    out.push_back(store(x.dtype(), x.shape(), sums));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace tiffin::reference
