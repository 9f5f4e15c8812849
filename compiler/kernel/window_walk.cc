// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/window_walk.h"

#include <algorithm>

namespace tiffin::kernel {

WindowWalk::WindowWalk(Lowering& lowering, const ops::Window& window, Points points, size_t first_axis)
    : lowering_(lowering), b_(lowering.b()), window_(window), points_(points), first_axis_(first_axis) {
  for (size_t axis = 0; axis < window.spatial_rank(); ++axis) {
    Axis how;
    how.is_inside = how.is_loop = true;
    for (size_t p = 0; p < points.size(); ++p) {
      const Range first = b_.index_math().range_of(origin(p, axis));
      how.is_inside &= first.is_bounded() && first.low >= 0 && first.high + window.reach(axis) <= window.input[axis];
      how.is_loop &= place_of(p, axis) == place_of(0, axis) && place_of(p, axis)->type.lanes == 1;
    }
    // A trial run shows the conditions of the unrolled form.
    const bool is_last = axis + 1 == window.spatial_rank();
    if (lowering.trace() != nullptr && is_last) how.is_loop = false;
    axes_.push_back(how);
  }
}

Expr WindowWalk::origin(size_t point, size_t axis) { return b_.sub(b_.mul(place_of(point, axis), window_.strides[axis]), window_.pads_begin[axis]); }

void WindowWalk::run(const Body& body) {
  std::vector<Index> positions(points_.size(), Index(window_.spatial_rank()));
  Index tap(window_.spatial_rank());
  std::vector<bool> is_in(points_.size(), true);
  walk(0, positions, tap, is_in, body);
}

void WindowWalk::walk(size_t axis, std::vector<Index>& positions, Index& tap, std::vector<bool>& is_in, const Body& body) {
  if (axis == window_.spatial_rank()) {
    std::vector<Index> seen = positions;
    for (size_t p = 0; p < seen.size(); ++p) {
      if (!is_in[p]) seen[p].clear();
    }
    return body(seen, tap);
  }
  const int64_t kernel = window_.kernel[axis], dilation = window_.dilations[axis];
  if (!axes_[axis].is_inside && !axes_[axis].is_loop) return unroll(axis, positions, tap, is_in, body);
  Expr begin = b_.i64(0), end = b_.i64(kernel);
  if (!axes_[axis].is_inside) {
    // Taps k with 0 <= origin + k * dilation < input.
    Expr first = origin(0, axis);
    note_bounds(first, 0, window_.input[axis]);
    begin = b_.div(b_.add(b_.max(b_.neg(first), b_.i64(0)), dilation - 1), dilation);
    Expr room = b_.max(b_.sub(b_.i64(window_.input[axis]), first), b_.i64(0));
    end = b_.min(b_.div(b_.add(room, dilation - 1), dilation), b_.i64(kernel));
    begin = b_.let_index("tap_begin", begin, {0, kernel});
    end = b_.let_index("tap_end", end, {0, kernel});
  }
  b_.for_loop("k", begin, end, [&](Expr k) {
    tap[axis] = k;
    for (size_t p = 0; p < points_.size(); ++p) {
      Expr position = b_.add(origin(p, axis), b_.mul(k, dilation));
      // The loop's bounds are what keeps the position inside.
      positions[p][axis] = axes_[axis].is_inside ? position : lowering_.within(position, window_.input[axis]);
    }
    walk(axis + 1, positions, tap, is_in, body);
  });
}

bool WindowWalk::is_inside(Expr position, int64_t low, int64_t high) {
  const Range range = b_.index_math().range_of(position);
  if (range.is_bounded() && range.low >= low && range.high < high) return true;
  if (range.is_bounded() && (range.high < low || range.low >= high)) return false;
  if (lowering_.trace() == nullptr) {
    lowering_.has_failed = true;
    return false;
  }
  note_bounds(position, low, high);
  return true;
}

void WindowWalk::note_bounds(Expr position, int64_t low, int64_t high) {
  if (lowering_.trace() != nullptr) lowering_.trace()->guards.push_back({b_.index_math().form_of(position), low, high});
}

void WindowWalk::unroll(size_t axis, std::vector<Index>& positions, Index& tap, std::vector<bool>& is_in, const Body& body) {
  const std::vector<bool> outer = is_in;
  for (int64_t k = 0; k < window_.kernel[axis]; ++k) {
    tap[axis] = b_.i64(k);
    is_in = outer;
    for (size_t p = 0; p < points_.size(); ++p) {
      Expr position = b_.add(origin(p, axis), k * window_.dilations[axis]);
      positions[p][axis] = position;
      is_in[p] = is_in[p] && is_inside(position, 0, window_.input[axis]);
    }
    if (std::any_of(is_in.begin(), is_in.end(), [](bool in) { return in; })) walk(axis + 1, positions, tap, is_in, body);
  }
  is_in = outer;
}

Expr WindowWalk::count_along(size_t point, size_t axis, int64_t low, int64_t high) {
  const int64_t kernel = window_.kernel[axis], dilation = window_.dilations[axis];
  if (place_of(point, axis)->type.lanes > 1 || (lowering_.trace() != nullptr && axis + 1 == window_.spatial_rank())) {
    int64_t count = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      Expr position = b_.add(origin(point, axis), k * dilation);
      count += is_inside(position, low, high) ? 1 : 0;
    }
    return b_.i64(count);
  }
  Expr first = origin(point, axis);
  note_bounds(first, low, high);
  Expr below = b_.div(b_.add(b_.max(b_.sub(b_.i64(low), first), b_.i64(0)), dilation - 1), dilation);
  Expr room = b_.max(b_.sub(b_.i64(high), first), b_.i64(0));
  Expr end = b_.min(b_.div(b_.add(room, dilation - 1), dilation), b_.i64(kernel));
  return b_.max(b_.sub(end, below), b_.i64(0));
}

Values WindowWalk::count_taps(bool with_pads) {
  Values counts;
  for (size_t p = 0; p < points_.size(); ++p) {
    Expr count = b_.i64(1);
    for (size_t axis = 0; axis < window_.spatial_rank(); ++axis) {
      const int64_t low = with_pads ? -window_.pads_begin[axis] : 0;
      const int64_t high = window_.input[axis] + (with_pads ? window_.pads_end[axis] : 0);
      count = b_.mul(count, count_along(p, axis, low, high));
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace tiffin::kernel
