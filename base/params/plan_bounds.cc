// SPDX-License-Identifier: Apache-2.0
#include "base/params/plan_bounds.h"

#include "abi/artifact.h"

namespace tiffin::params {

bool count_elements(const LongVector& shape, int64_t* out_count) {
  if (shape.size() > TIFFIN_MAX_RANK || !is_aligned(shape)) return false;
  int64_t count = 1;
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return false;
    if (extent == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      return false;
    }
  }
  *out_count = is_empty ? 0 : count;
  return true;
}

uint64_t volume_of(const abi::Piece& piece) {
  int64_t volume = 0;
  return count_elements(*piece.extents(), &volume) ? static_cast<uint64_t>(volume) : 0;
}

bool is_within(const LongVector& extents, const LongVector& strides, int64_t offset, int64_t count) {
  if (extents.size() != strides.size() || !is_aligned(strides)) return false;
  int64_t lowest = offset;
  int64_t highest = offset;
  for (flatbuffers::uoffset_t i = 0; i < extents.size(); ++i) {
    int64_t reach = 0;
    if (extents.Get(i) < 1 || __builtin_mul_overflow(extents.Get(i) - 1, strides.Get(i), &reach)) return false;
    int64_t& edge = reach < 0 ? lowest : highest;
    if (__builtin_add_overflow(edge, reach, &edge)) return false;
  }
  return lowest >= 0 && highest < count;
}

bool is_compact(const LongVector& extents, const LongVector& strides) {
  int64_t expected = 1;
  for (flatbuffers::uoffset_t i = extents.size(); i-- > 0;) {
    if (extents.Get(i) != 1 && strides.Get(i) != expected) return false;
    if (__builtin_mul_overflow(expected, extents.Get(i), &expected)) return false;
  }
  return true;
}

}  // namespace tiffin::params
