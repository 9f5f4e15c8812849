// SPDX-License-Identifier: Apache-2.0
// Walks along a row of output pixels in tiles. Tiles at the image's edges are emitted one by one with their position known, so that taps outside the
// image are left out of the code; those between them are a loop.
#pragma once

#include <functional>
#include <optional>

#include "compiler/kernel/tile.h"

namespace tiffin::kernel {

// One spatial axis of a window: output pixel o reads input positions o * stride - pad + tap * dilation.
struct PixelAxis {
  int64_t input = 1, output = 1, taps = 1, stride = 1, pad = 0, dilation = 1;

  bool is_inside(int64_t pixel, int64_t tap) const {
    const int64_t position = pixel * stride - pad + tap * dilation;
    return position >= 0 && position < input;
  }
  bool is_interior(int64_t pixel) const { return is_inside(pixel, 0) && is_inside(pixel, taps - 1); }
};

struct PixelTile {
  int rows = 1;                     // pixels
  Expr first = nullptr;             // of them
  std::optional<int64_t> position;  // `first` as a number, in tiles where some tap lies outside the image
};

void for_pixel_tiles(Builder& builder, const PixelAxis& axis, int max_rows, const std::function<void(const PixelTile&)>& body);

// Runs `body(tap)` in a loop over the taps of the vertical axis that lie inside the image for output row `pixel`.
void for_inside_taps(Builder& builder, const PixelAxis& axis, Expr pixel, const std::function<void(Expr)>& body);

}  // namespace tiffin::kernel
