// SPDX-License-Identifier: Apache-2.0
// 1. Axes that are one step in both layouts are merged, so that the innermost contiguous run becomes as long as it can be.
// 2. Of the other axes, the one closest together in the target and the one closest together in the source form a tile: within it every cache
//    line of either side is touched while it is still cached, whichever side is transposed.
// 3. The remaining axes are walked in the order of the target.
#include "base/params/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace tiffin::params {
namespace {

struct Axis {
  int64_t extent, from, to;  // strides in bytes
};

constexpr int64_t kTile = 16;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

struct Walk {
  Axis axes[TIFFIN_MAX_RANK];
  int rank = 0;
  int64_t run_bytes = 0;
};

// Steps 1 and 3: merged axes by falling target stride, without the contiguous run.
Walk plan_walk(const StridedCopy& copy, int64_t element_bytes) {
  Walk walk;
  for (int i = 0; i < copy.rank; ++i) {
    if (copy.extents[i] == 1) continue;
    walk.axes[walk.rank++] = {copy.extents[i], copy.from_strides[i] * element_bytes, copy.to_strides[i] * element_bytes};
  }
  std::sort(walk.axes, walk.axes + walk.rank, [](const Axis& a, const Axis& b) {
    if (magnitude(a.to) != magnitude(b.to)) return magnitude(a.to) > magnitude(b.to);
    return magnitude(a.from) > magnitude(b.from);
  });
  int kept = 0;
  for (int i = 0; i < walk.rank; ++i) {
    const Axis axis = walk.axes[i];
    Axis* outer = kept > 0 ? &walk.axes[kept - 1] : nullptr;
    if (outer != nullptr && outer->from == axis.extent * axis.from && outer->to == axis.extent * axis.to) {
      *outer = {outer->extent * axis.extent, axis.from, axis.to};
    } else {
      walk.axes[kept++] = axis;
    }
  }
  walk.rank = kept;
  walk.run_bytes = element_bytes;
  if (kept > 0 && walk.axes[kept - 1].from == element_bytes && walk.axes[kept - 1].to == element_bytes) {
    walk.run_bytes *= walk.axes[kept - 1].extent;
    --walk.rank;
  }
  return walk;
}

// Copies one element of a constant size, or a run of any.
template <size_t kBytes>
struct CopyElement {
  void operator()(uint8_t* to, const uint8_t* from) const { memcpy(to, from, kBytes); }
};
struct CopyRun {
  size_t bytes;
  void operator()(uint8_t* to, const uint8_t* from) const { memcpy(to, from, bytes); }
};

template <class Copy>
void copy_tile(uint8_t* to, const uint8_t* from, const Axis& outer, const Axis& inner, const Copy& copy) {
  for (int64_t o = 0; o < outer.extent; ++o) {
    uint8_t* to_row = to + o * outer.to;
    const uint8_t* from_row = from + o * outer.from;
    for (int64_t i = 0; i < inner.extent; ++i) copy(to_row + i * inner.to, from_row + i * inner.from);
  }
}

// The plane of two axes, the tile's longer side innermost.
template <class Copy>
void copy_plane(uint8_t* to, const uint8_t* from, const Axis& near_target, const Axis& near_source, const Copy& copy) {
  for (int64_t t = 0; t < near_target.extent; t += kTile) {
    const Axis rows{std::min(kTile, near_target.extent - t), near_target.from, near_target.to};
    for (int64_t s = 0; s < near_source.extent; s += kTile) {
      const Axis columns{std::min(kTile, near_source.extent - s), near_source.from, near_source.to};
      uint8_t* tile_to = to + t * rows.to + s * columns.to;
      const uint8_t* tile_from = from + t * rows.from + s * columns.from;
      if (rows.extent < columns.extent) {
        copy_tile(tile_to, tile_from, rows, columns, copy);
      } else {
        copy_tile(tile_to, tile_from, columns, rows, copy);
      }
    }
  }
}

template <class Copy>
void copy_axes(uint8_t* to, const uint8_t* from, const Axis* axes, int rank, const Axis& near_target, const Axis& near_source, const Copy& copy) {
  if (rank == 0) return copy_plane(to, from, near_target, near_source, copy);
  for (int64_t i = 0; i < axes[0].extent; ++i) {
    copy_axes(to + i * axes[0].to, from + i * axes[0].from, axes + 1, rank - 1, near_target, near_source, copy);
  }
}

// Step 2.
template <class Copy>
void copy_walk(Walk& walk, uint8_t* to, const uint8_t* from, const Copy& copy) {
  Axis near_target{1, 0, 0};
  Axis near_source{1, 0, 0};
  if (walk.rank > 0) near_target = walk.axes[--walk.rank];
  if (walk.rank > 0) {
    Axis* nearest =
        std::min_element(walk.axes, walk.axes + walk.rank, [](const Axis& a, const Axis& b) { return magnitude(a.from) < magnitude(b.from); });
    near_source = *nearest;
    std::copy(nearest + 1, walk.axes + walk.rank, nearest);
    --walk.rank;
  }
  copy_axes(to, from, walk.axes, walk.rank, near_target, near_source, copy);
}

}  // namespace

void copy_strided(const StridedCopy& copy, const uint8_t* from, uint8_t* to, size_t element_bytes) {
  const auto width = static_cast<int64_t>(element_bytes);
  Walk walk = plan_walk(copy, width);
  from += copy.from_offset * width;
  to += copy.to_offset * width;
  switch (walk.run_bytes) {
    case 1:
      return copy_walk(walk, to, from, CopyElement<1>{});
    case 2:
      return copy_walk(walk, to, from, CopyElement<2>{});
    case 4:
      return copy_walk(walk, to, from, CopyElement<4>{});
    case 8:
      return copy_walk(walk, to, from, CopyElement<8>{});
    case 16:
      return copy_walk(walk, to, from, CopyElement<16>{});
    case 64:
      return copy_walk(walk, to, from, CopyElement<64>{});
    default:
      return copy_walk(walk, to, from, CopyRun{static_cast<size_t>(walk.run_bytes)});
  }
}

}  // namespace tiffin::params
