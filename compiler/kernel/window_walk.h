// SPDX-License-Identifier: Apache-2.0
// Walks the taps of a sliding window inside an element. Along axes on which all points agree and have no lanes the taps are a loop whose bounds
// leave out those in the padding; along other axes they are unrolled and each is guarded by the nest's splits, so that a vector is all in or out.
#pragma once

#include <functional>

#include "compiler/kernel/lowering.h"
#include "compiler/ops/window.h"

namespace tiffin::kernel {

class WindowWalk {
 public:
  // The points' spatial indices are point[first_axis ...].
  WindowWalk(Lowering& lowering, const ops::Window& window, Points points, size_t first_axis);

  // `positions[p]`: where the tap of point p lies in the input; `tap`: its place in the kernel.
  using Body = std::function<void(const std::vector<Index>& positions, const Index& tap)>;
  // Calls `body` for every tap that lies in the input, in row-major order; in vector code once for each unrolled one. Where points disagree on being
  // inside, the positions of those outside are empty.
  void run(const Body& body);

  // For each point the number of taps inside [-pad_begin, input + pad_end) as an Int64 expression; pads count as inside when `with_pads`.
  Values count_taps(bool with_pads);

 private:
  struct Axis {
    bool is_loop = false;    // taps by a loop
    bool is_inside = false;  // no tap ever leaves the input
  };
  void walk(size_t axis, std::vector<Index>& positions, Index& tap, std::vector<bool>& is_in, const Body& body);
  void unroll(size_t axis, std::vector<Index>& positions, Index& tap, std::vector<bool>& is_in, const Body& body);
  Expr place_of(size_t point, size_t axis) const { return points_[point][first_axis_ + axis]; }
  // Where the window of a point begins in the input.
  Expr origin(size_t point, size_t axis);
  // Decided by ranges. What they leave open is recorded by a trial run, and makes a nest with lanes fail.
  bool is_inside(Expr position, int64_t low, int64_t high);
  // For a trial run: what is computed changes where the position enters or leaves [low, high), so that axes of the result that differ in it are loops
  // of their own, whose bounds are computed once, and never joined into one along which nothing steps evenly.
  void note_bounds(Expr position, int64_t low, int64_t high);
  Expr count_along(size_t point, size_t axis, int64_t low, int64_t high);

  Lowering& lowering_;
  Builder& b_;
  const ops::Window& window_;
  Points points_;
  size_t first_axis_;
  std::vector<Axis> axes_;
};

}  // namespace tiffin::kernel
