// SPDX-License-Identifier: Apache-2.0
// Resize: one axis after another, as its definition is separable.
#include <cmath>

#include "compiler/ops/resize_taps.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

std::vector<double> resample(const std::vector<double>& x, const AxisView& view, const std::vector<std::vector<ops::ResizeTap>>& taps,
                             double extrapolation) {
  const AxisView result{view.outer, static_cast<int64_t>(taps.size()), view.inner};
  std::vector<double> out(static_cast<size_t>(result.outer * result.extent * result.inner), extrapolation);
  for (int64_t position = 0; position < result.extent; ++position) {
    const std::vector<ops::ResizeTap>& here = taps[static_cast<size_t>(position)];
    for (int64_t row = 0; row < view.outer * view.inner && !here.empty(); ++row) {
      double sum = 0;
      for (const ops::ResizeTap& tap : here) {
        sum += tap.weight * x[static_cast<size_t>(view.at(row / view.inner, tap.position, row % view.inner))];
      }
      out[static_cast<size_t>(result.at(row / view.inner, position, row % view.inner))] = sum;
    }
  }
  return out;
}

}  // namespace

Result<Tensors> evaluate_resize(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<ops::ResizeAxis> axes, ops::resize_of(e.graph, e.node));
  if (!visit_number(x.dtype(), [](auto) {})) return e.unsupported_type(x.dtype());
  std::vector<double> values = x.to_doubles();
  std::vector<int64_t> shape = x.shape();
  if (x.num_elements() == 0 && graph::num_elements(e.result_shape()) != 0) {
    return error(Code::InvalidModel, "cannot resize '%s' (Resize): the data has no element", e.node.name.c_str());
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (ops::is_resize_identity(axes[axis])) continue;
    const AxisView view = view_at_axis(shape, static_cast<int64_t>(axis));
    values = resample(values, view, ops::resize_taps(e.node, axes[axis]), e.node.float_attribute("extrapolation_value", 0));
    shape[axis] = axes[axis].output;
  }
  Tensors out;
  visit_number(x.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (const double value : values) elements.push_back(static_cast<T>(std::is_integral_v<T> ? std::trunc(value) : value));
    out.push_back(store(x.dtype(), shape, elements));
  });
  return out;
}

}  // namespace tiffin::reference
