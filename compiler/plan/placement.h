// SPDX-License-Identifier: Apache-2.0
// A tensor described as boxes of parameters laid out in it: what survives of a movement operator on weights when no byte is moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/plan/plan.h"

namespace tiffin::plan {

// A box of the tensor at `offset` with `extents`; its element at index i (relative to the box) is element source_offset + sum(i * source_strides) of
// the parameter.
struct PlacedBox {
  uint32_t parameter = 0;
  std::vector<int64_t> offset, extents, source_strides;
  int64_t source_offset = 0;
};

// Elements outside all boxes are zero. Boxes do not overlap.
struct Placement {
  DType dtype{};
  std::vector<int64_t> shape;
  std::vector<PlacedBox> boxes;
};

Placement place_parameter(uint32_t parameter, const graph::Tensor& tensor);

// Each returns nothing where the result is no placement of few boxes.
std::optional<Placement> transpose(const Placement& from, std::span<const int64_t> permutation);
std::optional<Placement> reshape(const Placement& from, std::span<const int64_t> shape);
std::optional<Placement> concat(std::span<const Placement* const> parts, size_t axis, std::span<const int64_t> shape);
std::optional<Placement> pad_zeros(const Placement& from, std::span<const int64_t> begins, std::span<const int64_t> shape);

// The last axis cut into panels that come first: [..., N] -> [ceil(N / width), ..., width], zero padded.
std::optional<Placement> pack_panels(const Placement& from, int64_t width);

std::vector<Piece> pieces_of(const Placement& placement);

}  // namespace tiffin::plan
