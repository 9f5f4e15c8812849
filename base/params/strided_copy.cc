// SPDX-License-Identifier: Apache-2.0
// 1. Axes that are one step in both layouts are merged, so that the innermost contiguous run becomes as long as it can be.
// 2. Of the other axes, the one closest together in the target and the one closest together in the source form a plane that is walked in tiles:
//    within a tile every cache line of either side is used up while it is still cached, whichever side is transposed. The next two axes form a
//    plane of such planes, which does the same for panels narrower than a cache line.
// 3. Where a tile is a plain transposition it goes through a small buffer, so that lines of power-of-two strides do not evict one another.
// 4. The remaining axes are walked in the order of the target.
#include "base/params/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tiffin::params {
namespace {

struct Axis {
  int64_t extent, from, to;  // strides in bytes
};

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

struct Walk {
  Axis axes[TIFFIN_MAX_RANK];
  int rank = 0;
  int64_t run_bytes = 0;
};

bool is_outside(const Axis& a, const Axis& b) {
  return magnitude(a.to) != magnitude(b.to) ? magnitude(a.to) > magnitude(b.to) : magnitude(a.from) > magnitude(b.from);
}

// Step 1: merged axes by falling target stride, without the contiguous run.
Walk plan_walk(const StridedCopy& copy, int64_t element_bytes) {
  Walk walk;
  for (int i = 0; i < copy.rank; ++i) {
    if (copy.extents[i] == 1) continue;
    walk.axes[walk.rank++] = {copy.extents[i], copy.from_strides[i] * element_bytes, copy.to_strides[i] * element_bytes};
  }
  for (int i = 1; i < walk.rank; ++i) {
    for (int j = i; j > 0 && is_outside(walk.axes[j], walk.axes[j - 1]); --j) std::swap(walk.axes[j], walk.axes[j - 1]);
  }
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

// An integer of that many bytes.
template <int64_t kBytes>
using Element =
    std::conditional_t<kBytes == 1, uint8_t, std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// Step 3: from[row][column] to to[column][row], rows contiguous in the source, columns in the target; strides in bytes.
template <int64_t kBytes, int64_t kRows, int64_t kColumns>
void transpose_tile(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride) {
  Element<kBytes> rows[kRows * kColumns];
  Element<kBytes> columns[kRows * kColumns];
  for (int64_t r = 0; r < kRows; ++r) memcpy(rows + r * kColumns, from + r * from_stride, kColumns * kBytes);
  for (int64_t c = 0; c < kColumns; ++c) {
    for (int64_t r = 0; r < kRows; ++r) columns[c * kRows + r] = rows[r * kColumns + c];
  }
  for (int64_t c = 0; c < kColumns; ++c) memcpy(to + c * to_stride, columns + c * kRows, kRows * kBytes);
}

// One plane of elements: near_target.to and near_source.from are the smallest steps. `run_bytes` is the size of an element.
using PlaneCopy = void (*)(uint8_t* to, const uint8_t* from, const Axis& near_target, const Axis& near_source, size_t run_bytes);

// Elements of any size.
void copy_runs(uint8_t* to, const uint8_t* from, const Axis& near_target, const Axis& near_source, size_t run_bytes) {
  constexpr int64_t kSide = 16;
  for (int64_t t = 0; t < near_target.extent; t += kSide) {
    const int64_t rows_end = std::min(near_target.extent, t + kSide);
    for (int64_t c = 0; c < near_source.extent; ++c) {
      for (int64_t r = t; r < rows_end; ++r) {
        memcpy(to + r * near_target.to + c * near_source.to, from + r * near_target.from + c * near_source.from, run_bytes);
      }
    }
  }
}

template <int64_t kBytes>
void copy_tile(uint8_t* to, const uint8_t* from, const Axis& outer, const Axis& inner) {
  for (int64_t o = 0; o < outer.extent; ++o) {
    uint8_t* to_row = to + o * outer.to;
    const uint8_t* from_row = from + o * outer.from;
    for (int64_t i = 0; i < inner.extent; ++i) memcpy(to_row + i * inner.to, from_row + i * inner.from, kBytes);
  }
}

// A tile that is a transposition, in parts that have code of their own; false if there is none for its rows.
template <int64_t kBytes>
bool transpose_parts(uint8_t* to, const uint8_t* from, const Axis& rows, const Axis& columns) {
  constexpr int64_t kPart = 16;
  if (rows.extent != 4 && rows.extent % kPart != 0) return false;
  const int64_t whole = columns.extent / kPart * kPart;
  for (int64_t c = 0; c < whole; c += kPart) {
    uint8_t* part_to = to + c * columns.to;
    const uint8_t* part_from = from + c * kBytes;
    if (rows.extent == 4) {
      transpose_tile<kBytes, 4, kPart>(part_to, columns.to, part_from, rows.from);
    } else {
      for (int64_t r = 0; r < rows.extent; r += kPart)
        transpose_tile<kBytes, kPart, kPart>(part_to + r * kBytes, columns.to, part_from + r * rows.from, rows.from);
    }
  }
  copy_tile<kBytes>(to + whole * columns.to, from + whole * kBytes, {columns.extent - whole, columns.from, columns.to}, rows);
  return true;
}

// Elements of a constant size, in tiles of a cache line's worth.
template <int64_t kBytes>
void copy_plane(uint8_t* to, const uint8_t* from, const Axis& near_target, const Axis& near_source, size_t) {
  constexpr int64_t kSide = std::max<int64_t>(16, 64 / kBytes);
  const bool is_transposition = near_target.to == kBytes && near_source.from == kBytes;
  for (int64_t t = 0; t < near_target.extent; t += kSide) {
    const Axis rows{std::min(kSide, near_target.extent - t), near_target.from, near_target.to};
    for (int64_t s = 0; s < near_source.extent; s += kSide) {
      const Axis columns{std::min(kSide, near_source.extent - s), near_source.from, near_source.to};
      uint8_t* tile_to = to + t * rows.to + s * columns.to;
      const uint8_t* tile_from = from + t * rows.from + s * columns.from;
      if (is_transposition && transpose_parts<kBytes>(tile_to, tile_from, rows, columns)) continue;
      const bool is_wide = rows.extent < columns.extent;
      copy_tile<kBytes>(tile_to, tile_from, is_wide ? rows : columns, is_wide ? columns : rows);
    }
  }
}

// A box of any rank: planes of planes, then the remaining axes in the order of the target.
class BoxCopy {
 public:
  // Takes the axes of the walk apart.
  BoxCopy(Walk& walk, PlaneCopy copy_inner_plane) : copy_inner_plane_(copy_inner_plane), run_bytes_(static_cast<size_t>(walk.run_bytes)) {
    for (Plane& plane : planes_) {
      plane.near_target = take_near_target(walk);
      plane.near_source = take_near_source(walk);
    }
    std::copy(walk.axes, walk.axes + walk.rank, axes_);
    rank_ = walk.rank;
  }

  void run(uint8_t* to, const uint8_t* from) const {
    int64_t index[TIFFIN_MAX_RANK] = {};
    int axis = rank_;
    do {
      run_outer_plane(to, from);
      for (axis = rank_; axis-- > 0;) {
        to += axes_[axis].to;
        from += axes_[axis].from;
        if (++index[axis] < axes_[axis].extent) break;
        to -= axes_[axis].to * index[axis];
        from -= axes_[axis].from * index[axis];
        index[axis] = 0;
      }
    } while (axis >= 0);
  }

 private:
  struct Plane {
    Axis near_target, near_source;
  };
  static constexpr Axis kNone{1, 0, 0};
  static constexpr int64_t kOuterSide = 16;

  static Axis take_near_target(Walk& walk) { return walk.rank > 0 ? walk.axes[--walk.rank] : kNone; }
  static Axis take_near_source(Walk& walk) {
    if (walk.rank == 0) return kNone;
    Axis* end = walk.axes + walk.rank--;
    Axis* nearest = std::min_element(walk.axes, end, [](const Axis& a, const Axis& b) { return magnitude(a.from) < magnitude(b.from); });
    const Axis taken = *nearest;
    std::copy(nearest + 1, end, nearest);
    return taken;
  }

  void run_outer_plane(uint8_t* to, const uint8_t* from) const {
    const auto& [rows, columns] = planes_[1];
    for (int64_t r = 0; r < rows.extent; r += kOuterSide) {
      const int64_t rows_end = std::min(rows.extent, r + kOuterSide);
      for (int64_t c = 0; c < columns.extent; c += kOuterSide) {
        const int64_t columns_end = std::min(columns.extent, c + kOuterSide);
        for (int64_t row = r; row < rows_end; ++row) {
          for (int64_t column = c; column < columns_end; ++column) {
            copy_inner_plane_(to + row * rows.to + column * columns.to, from + row * rows.from + column * columns.from, planes_[0].near_target,
                              planes_[0].near_source, run_bytes_);
          }
        }
      }
    }
  }

  Plane planes_[2];
  Axis axes_[TIFFIN_MAX_RANK];
  int rank_ = 0;
  PlaneCopy copy_inner_plane_;
  size_t run_bytes_;
};

PlaneCopy plane_copy_for(int64_t run_bytes) {
  switch (run_bytes) {
    case 1:
      return copy_plane<1>;
    case 2:
      return copy_plane<2>;
    case 4:
      return copy_plane<4>;
    case 8:
      return copy_plane<8>;
    default:
      return copy_runs;
  }
}

}  // namespace

void copy_strided(const StridedCopy& copy, const uint8_t* from, uint8_t* to, size_t element_bytes) {
  const auto width = static_cast<int64_t>(element_bytes);
  Walk walk = plan_walk(copy, width);
  const PlaneCopy plane_copy = plane_copy_for(walk.run_bytes);
  BoxCopy(walk, plane_copy).run(to + copy.to_offset * width, from + copy.from_offset * width);
}

}  // namespace tiffin::params
