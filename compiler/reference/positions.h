// SPDX-License-Identifier: Apache-2.0
// Positions in row-major tensors: walking over coordinates, broadcasting, and the split of a shape at an axis.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tiffin::reference {

// Walks over all coordinates of a shape in row-major order. A shape with a zero extent has none.
//   for (Coordinates at(shape); !at.is_done(); at.next()) use(at[0], at[1], at.index());
class Coordinates {
 public:
  explicit Coordinates(std::span<const int64_t> shape);
  bool is_done() const { return is_done_; }
  void next();
  int64_t operator[](size_t axis) const { return at_[axis]; }
  const std::vector<int64_t>& all() const { return at_; }
  int64_t index() const { return index_; }  // how many came before

 private:
  std::vector<int64_t> shape_, at_;
  int64_t index_ = 0;
  bool is_done_ = false;
};

// For every element of `out` in row-major order the index of the element of `in` that broadcasting pairs with it. Precondition: `in` broadcasts
// to `out`.
std::vector<int64_t> broadcast_indices(std::span<const int64_t> in, std::span<const int64_t> out);

// The shape of NumPy's broadcasting. Precondition: the shapes fit.
std::vector<int64_t> broadcast_shape(std::span<const int64_t> a, std::span<const int64_t> b);

// Sum of at[i] * strides[i].
int64_t dot(std::span<const int64_t> at, std::span<const int64_t> strides);

// A shape seen around one axis: element (o, a, i) lies at (o * extent + a) * inner + i.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t at(int64_t o, int64_t a, int64_t i) const { return (o * extent + a) * inner + i; }
};
AxisView view_at_axis(std::span<const int64_t> shape, int64_t axis);

}  // namespace tiffin::reference
