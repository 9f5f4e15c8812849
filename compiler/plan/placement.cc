// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/placement.h"

#include <algorithm>

namespace tiffin::plan {
namespace {

constexpr size_t kMaxBoxes = 64;

// Axes of `from` and `to` (shapes of as many elements) that belong together: each group has equal products, and is as small as possible.
struct AxisGroup {
  size_t from_begin, from_end, to_begin, to_end;
};

std::vector<AxisGroup> match_axes(std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup group{i, i, j, j};
    int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b && i < from.size()) {
        a *= from[i++];
      } else if (b < a && j < to.size()) {
        b *= to[j++];
      } else {
        return {};  // sizes differ: not reached for equal products
      }
    }
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// One axis group of a box in the new shape: offsets, extents and strides of its target axes.
bool reshape_group(const PlacedBox& box, std::span<const int64_t> from_shape, std::span<const int64_t> to_shape, const AxisGroup& group,
                   PlacedBox& out) {
  // The box must be one run in this group: all axes but the first non-trivial one whole, with strides that merge.
  int64_t offset = 0, extent = 1, stride = 1, whole = 1;
  bool is_partial = false;
  for (size_t axis = group.from_end; axis-- > group.from_begin;) {
    if (from_shape[axis] == 1) continue;
    if (is_partial) return false;
    if (extent == 1 && whole == 1) {
      stride = box.source_strides[axis];
    } else if (box.extents[axis] > 1 && box.source_strides[axis] != stride * whole) {
      return false;
    }
    offset += box.offset[axis] * whole;
    extent = box.extents[axis] * whole;
    is_partial = box.extents[axis] != from_shape[axis];
    whole *= from_shape[axis];
  }
  // Lay the run [offset, offset + extent) over the target axes.
  std::vector<int64_t> inner(group.to_end - group.to_begin, 1);
  for (size_t k = inner.size(); k-- > 1;) inner[k - 1] = inner[k] * to_shape[group.to_begin + k];
  for (size_t k = 0; k < inner.size(); ++k) {
    const int64_t size = to_shape[group.to_begin + k];
    if (extent >= inner[k] && offset % inner[k] == 0 && extent % inner[k] == 0) {
      if (offset / inner[k] + extent / inner[k] > size) return false;
      out.offset.push_back(offset / inner[k]);
      out.extents.push_back(extent / inner[k]);
      out.source_strides.push_back(stride * inner[k]);
      offset = 0;
      extent = inner[k];
    } else if (offset / inner[k] == (offset + extent - 1) / inner[k]) {
      out.offset.push_back(offset / inner[k]);
      out.extents.push_back(1);
      out.source_strides.push_back(stride * inner[k]);
      offset %= inner[k];
    } else {
      return false;  // the run begins or ends inside a row: more boxes than one
    }
  }
  return true;
}

}  // namespace

Placement place_parameter(uint32_t parameter, const graph::Tensor& tensor) {
  Placement placement{tensor.dtype(), tensor.shape(), {}};
  PlacedBox box;
  box.parameter = parameter;
  box.offset.assign(tensor.rank(), 0);
  box.extents = tensor.shape();
  box.source_strides = graph::row_major_strides(tensor.shape());
  if (tensor.num_elements() > 0) placement.boxes.push_back(std::move(box));
  return placement;
}

std::optional<Placement> transpose(const Placement& from, std::span<const int64_t> permutation) {
  const auto permute = [&](const std::vector<int64_t>& values) {
    std::vector<int64_t> out;
    for (const int64_t axis : permutation) out.push_back(values[static_cast<size_t>(axis)]);
    return out;
  };
  Placement out{from.dtype, permute(from.shape), {}};
  for (const PlacedBox& box : from.boxes) {
    out.boxes.push_back({box.parameter, permute(box.offset), permute(box.extents), permute(box.source_strides), box.source_offset});
  }
  return out;
}

std::optional<Placement> reshape(const Placement& from, std::span<const int64_t> shape) {
  Placement out{from.dtype, {shape.begin(), shape.end()}, {}};
  if (from.boxes.empty()) return out;
  const std::vector<AxisGroup> groups = match_axes(from.shape, shape);
  for (const PlacedBox& box : from.boxes) {
    PlacedBox moved;
    moved.parameter = box.parameter;
    moved.source_offset = box.source_offset;
    for (const AxisGroup& group : groups) {
      if (!reshape_group(box, from.shape, shape, group, moved)) return std::nullopt;
    }
    if (moved.offset.size() != shape.size()) return std::nullopt;
    out.boxes.push_back(std::move(moved));
  }
  return out;
}

std::optional<Placement> concat(std::span<const Placement* const> parts, size_t axis, std::span<const int64_t> shape) {
  Placement out{parts.front()->dtype, {shape.begin(), shape.end()}, {}};
  int64_t begin = 0;
  for (const Placement* part : parts) {
    for (PlacedBox box : part->boxes) {
      box.offset[axis] += begin;
      out.boxes.push_back(std::move(box));
    }
    begin += part->shape[axis];
  }
  if (out.boxes.size() > kMaxBoxes) return std::nullopt;
  return out;
}

std::optional<Placement> pad_zeros(const Placement& from, std::span<const int64_t> begins, std::span<const int64_t> shape) {
  Placement out{from.dtype, {shape.begin(), shape.end()}, from.boxes};
  for (PlacedBox& box : out.boxes) {
    for (size_t axis = 0; axis < begins.size(); ++axis) box.offset[axis] += begins[axis];
  }
  return out;
}

std::optional<Placement> pack_panels(const Placement& from, int64_t width) {
  const size_t last = from.shape.size() - 1;
  Placement cut{from.dtype, from.shape, {}};
  cut.shape[last] = (from.shape[last] + width - 1) / width * width;
  // Split every box where panels begin, into at most a head, whole panels, and a tail.
  for (const PlacedBox& box : from.boxes) {
    const int64_t begin = box.offset[last], end = begin + box.extents[last];
    const int64_t first_whole = (begin + width - 1) / width * width, last_whole = end / width * width;
    std::vector<int64_t> bounds = {begin, std::min(std::max(first_whole, begin), end), std::max(last_whole, begin), end};
    if (first_whole > last_whole) bounds = {begin, end};
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      if (bounds[i] >= bounds[i + 1]) continue;
      PlacedBox part = box;
      part.offset[last] = bounds[i];
      part.extents[last] = bounds[i + 1] - bounds[i];
      part.source_offset += (bounds[i] - begin) * box.source_strides[last];
      cut.boxes.push_back(std::move(part));
    }
  }
  std::vector<int64_t> split = cut.shape, permutation = {static_cast<int64_t>(last)};
  split[last] /= width;
  split.push_back(width);
  for (size_t axis = 0; axis < last; ++axis) permutation.push_back(static_cast<int64_t>(axis));
  permutation.push_back(static_cast<int64_t>(last) + 1);
  const std::optional<Placement> panels = reshape(cut, split);
  if (!panels) return std::nullopt;
  return transpose(*panels, permutation);
}

std::vector<Piece> pieces_of(const Placement& placement) {
  const std::vector<int64_t> strides = graph::row_major_strides(placement.shape);
  std::vector<Piece> pieces;
  for (const PlacedBox& box : placement.boxes) {
    Piece piece;
    piece.parameter = box.parameter;
    piece.source_offset = box.source_offset;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      piece.target_offset += box.offset[axis] * strides[axis];
      if (box.extents[axis] == 1) continue;
      // An axis that continues the previous one on both sides is one longer run.
      if (!piece.extents.empty() && piece.source_strides.back() == box.extents[axis] * box.source_strides[axis] &&
          piece.target_strides.back() == box.extents[axis] * strides[axis]) {
        piece.extents.back() *= box.extents[axis];
        piece.source_strides.back() = box.source_strides[axis];
        piece.target_strides.back() = strides[axis];
        continue;
      }
      piece.extents.push_back(box.extents[axis]);
      piece.source_strides.push_back(box.source_strides[axis]);
      piece.target_strides.push_back(strides[axis]);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace tiffin::plan
