// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the extents and strides of a storage plan that cannot overflow unnoticed.
#pragma once

#include <cstdint>

#include "abi/artifact_generated.h"
#include "base/dtype.h"

namespace tiffin::params {

using LongVector = flatbuffers::Vector<int64_t>;

// FlatBuffers' verifier does not look at the alignment of a vector's elements.
template <class T>
bool is_aligned(const flatbuffers::Vector<T>& vector) {
  return vector.size() == 0 || reinterpret_cast<uintptr_t>(vector.Data()) % alignof(T) == 0;
}

// Product of the dimensions; false if one is negative, the rank exceeds TIFFIN_MAX_RANK, the product exceeds int64 or the vector is misaligned.
[[nodiscard]] bool count_elements(const LongVector& shape, int64_t* out_count);

// The number of elements that a checked piece moves.
uint64_t volume_of(const abi::Piece& piece);

// True if offset + sum(index[i] * strides[i]) lies in [0, count) for every index below extents (all at least 1).
[[nodiscard]] bool is_within(const LongVector& extents, const LongVector& strides, int64_t offset, int64_t count);

// True if the strides are those of a compact row-major box; an axis of extent 1 may have any.
bool is_compact(const LongVector& extents, const LongVector& strides);

inline DType dtype_of(uint8_t code) { return is_known_dtype(code) ? static_cast<DType>(code) : DType::Undefined; }

}  // namespace tiffin::params
