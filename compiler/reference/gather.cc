// SPDX-License-Identifier: Apache-2.0
// Reading and writing at computed indices. A negative index counts from the end; one out of range is IndexOutOfRange.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

Status wrap_index(const Evaluation& e, int64_t extent, int64_t* index) {
  if (*index < -extent || *index >= extent) {
    return error(Code::IndexOutOfRange, "index %lld of '%s' (%s) is out of range, expected a value in [%lld, %lld)", static_cast<long long>(*index),
                 e.node.name.c_str(), std::string(graph::op_name(e.op())).c_str(), static_cast<long long>(-extent), static_cast<long long>(extent));
  }
  if (*index < 0) *index += extent;
  return {};
}

// The tensor of `shape` with x's elements at `from`.
Result<Tensors> picked(const Evaluation& e, const Tensor& x, const std::vector<int64_t>& from) {
  Tensors out;
  visit_bits(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (const int64_t index : from) elements.push_back(x.at<T>(index));
    out.push_back(Tensor::from<T>(x.dtype(), e.result_shape(), elements));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

// For each element of `indices` the element of x at the same coordinate, but with the index on `axis`.
Result<std::vector<int64_t>> element_targets(const Evaluation& e, const Tensor& x, const Tensor& indices, int64_t axis) {
  const std::vector<int64_t> strides = graph::row_major_strides(x.shape()), values = indices.to_int64s();
  const auto along = static_cast<size_t>(axis);
  std::vector<int64_t> targets;
  for (Coordinates at(indices.shape()); !at.is_done(); at.next()) {
    int64_t index = values[static_cast<size_t>(at.index())];
    TIFFIN_TRY(wrap_index(e, x.shape()[along], &index));
    targets.push_back(dot(at.all(), strides) + (index - at[along]) * strides[along]);
  }
  return targets;
}

// For each row of `indices` [..., k] the first element of x's slice it points at, after `batch_dims` leading axes that they share.
Result<std::vector<int64_t>> slice_targets(const Evaluation& e, const Tensor& x, const Tensor& indices, size_t batch_dims) {
  const std::vector<int64_t> strides = graph::row_major_strides(x.shape()), values = indices.to_int64s();
  const auto depth = static_cast<size_t>(indices.shape().back());
  const std::span<const int64_t> rows(indices.shape().data(), indices.rank() - 1);
  std::vector<int64_t> targets;
  for (Coordinates at(rows); !at.is_done(); at.next()) {
    int64_t target = 0;
    for (size_t i = 0; i < batch_dims; ++i) target += at[i] * strides[i];
    for (size_t k = 0; k < depth; ++k) {
      int64_t index = values[static_cast<size_t>(at.index()) * depth + k];
      TIFFIN_TRY(wrap_index(e, x.shape()[batch_dims + k], &index));
      target += index * strides[batch_dims + k];
    }
    targets.push_back(target);
  }
  return targets;
}

template <class T>
T combined(const std::string& reduction, T old, T update) {
  if (reduction == "add") return add(old, update);
  if (reduction == "mul") return multiply(old, update);
  if (reduction == "max") return old != old || old > update ? old : update;
  if (reduction == "min") return old != old || old < update ? old : update;
  return update;
}

// x with `updates` put at `targets`, one after another; each target is followed by `run` elements.
Result<Tensors> scattered(const Evaluation& e, const std::vector<int64_t>& targets, int64_t run) {
  const Tensor &x = e.inputs[0], &updates = e.inputs[2];
  const std::string reduction = e.node.string_attribute("reduction", "none");
  Tensors out;
  const auto scatter = [&]<class T>(TypeTag<T>) {
    std::vector<T> elements = load<T>(x);
    const std::vector<T> values = load<T>(updates);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / run, column = static_cast<int64_t>(i) % run;
      T& element = elements[static_cast<size_t>(targets[static_cast<size_t>(row)] + column)];
      element = combined(reduction, element, values[i]);
    }
    out.push_back(store(x.dtype(), x.shape(), elements));
  };
  visit_any(x.dtype(), scatter);
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace

Result<Tensors> evaluate_gather(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  const AxisView view = view_at_axis(x.shape(), axis);
  std::vector<int64_t> indices = e.inputs[1].to_int64s(), from;
  for (int64_t& index : indices) TIFFIN_TRY(wrap_index(e, view.extent, &index));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const int64_t index : indices) {
      for (int64_t i = 0; i < view.inner; ++i) from.push_back(view.at(o, index, i));
    }
  }
  return picked(e, x, from);
}

Result<Tensors> evaluate_gather_elements(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> from, element_targets(e, e.inputs[0], e.inputs[1], axis));
  return picked(e, e.inputs[0], from);
}

Result<Tensors> evaluate_gather_nd(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  const auto batch_dims = static_cast<size_t>(e.node.int_attribute("batch_dims", 0));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> rows, slice_targets(e, x, e.inputs[1], batch_dims));
  const size_t indexed = batch_dims + static_cast<size_t>(e.inputs[1].shape().back());
  const int64_t run = graph::num_elements(std::span(x.shape()).subspan(indexed));
  std::vector<int64_t> from;
  for (const int64_t row : rows) {
    for (int64_t i = 0; i < run; ++i) from.push_back(row + i);
  }
  return picked(e, x, from);
}

Result<Tensors> evaluate_scatter_elements(const Evaluation& e) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", 0));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, element_targets(e, e.inputs[0], e.inputs[1], axis));
  return scattered(e, targets, 1);
}

Result<Tensors> evaluate_scatter_nd(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, slice_targets(e, x, e.inputs[1], 0));
  const auto depth = static_cast<size_t>(e.inputs[1].shape().back());
  return scattered(e, targets, graph::num_elements(std::span(x.shape()).subspan(depth)));
}

namespace {

// Positions 0 … extent - 1 along the axis, best first; equal values keep their order; NaN counts as larger than every number.
template <class T>
std::vector<int64_t> ranked(const std::vector<T>& x, const AxisView& view, int64_t o, int64_t i, bool wants_largest) {
  std::vector<int64_t> positions(static_cast<size_t>(view.extent));
  for (size_t a = 0; a < positions.size(); ++a) positions[a] = static_cast<int64_t>(a);
  const auto is_less = [](T a, T b) { return a < b || (a == a && b != b); };
  std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
    const T left = x[static_cast<size_t>(view.at(o, a, i))], right = x[static_cast<size_t>(view.at(o, b, i))];
    return wants_largest ? is_less(right, left) : is_less(left, right);
  });
  return positions;
}

}  // namespace

Result<Tensors> evaluate_top_k(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(e.graph, e.node, "axis", -1));
  const AxisView view = view_at_axis(x.shape(), axis);
  const int64_t k = e.inputs[1].to_int64s()[0];
  const bool wants_largest = e.node.int_attribute("largest", 1) != 0;
  Tensors out;
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = k;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> elements = load<T>(x);
    const AxisView result{view.outer, k, view.inner};
    std::vector<T> values(static_cast<size_t>(graph::num_elements(shape)));
    std::vector<int64_t> indices(values.size());
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      const int64_t o = row / view.inner, i = row % view.inner;
      const std::vector<int64_t> positions = ranked(elements, view, o, i, wants_largest);
      for (int64_t rank = 0; rank < k; ++rank) {
        const int64_t position = positions[static_cast<size_t>(rank)];
        values[static_cast<size_t>(result.at(o, rank, i))] = elements[static_cast<size_t>(view.at(o, position, i))];
        indices[static_cast<size_t>(result.at(o, rank, i))] = position;
      }
    }
    out.push_back(store(x.dtype(), shape, values));
    out.push_back(store(DType::Int64, shape, indices));
  });
  if (out.empty()) return e.unsupported_type(x.dtype());
  return out;
}

}  // namespace tiffin::reference
