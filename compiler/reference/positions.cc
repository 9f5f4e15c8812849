// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/positions.h"

#include <algorithm>

#include "compiler/graph/type.h"

namespace tiffin::reference {

Coordinates::Coordinates(std::span<const int64_t> shape) : shape_(shape.begin(), shape.end()), at_(shape.size(), 0) {
  is_done_ = std::find(shape_.begin(), shape_.end(), 0) != shape_.end();
}

void Coordinates::next() {
  ++index_;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    if (++at_[axis] < shape_[axis]) return;
    at_[axis] = 0;
  }
  is_done_ = true;
}

std::vector<int64_t> broadcast_indices(std::span<const int64_t> in, std::span<const int64_t> out) {
  const std::vector<int64_t> in_strides = graph::row_major_strides(in);
  std::vector<int64_t> strides(out.size(), 0);
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != 1) strides[out.size() - in.size() + i] = in_strides[i];
  }
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(std::max<int64_t>(graph::num_elements(out), 0)));
  for (Coordinates at(out); !at.is_done(); at.next()) indices.push_back(dot(at.all(), strides));
  return indices;
}

std::vector<int64_t> broadcast_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<int64_t> out(a.begin(), a.end());
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& extent = out[a.size() - b.size() + i];
    if (extent == 1) extent = b[i];
  }
  return out;
}

int64_t dot(std::span<const int64_t> at, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i];
  return sum;
}

AxisView view_at_axis(std::span<const int64_t> shape, int64_t axis) {
  const auto split = static_cast<size_t>(axis);
  return {graph::num_elements(shape.first(split)), shape[split], graph::num_elements(shape.subspan(split + 1))};
}

}  // namespace tiffin::reference
