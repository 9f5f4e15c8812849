// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/tile_pixels.h"

namespace tiffin::kernel {
namespace {

int64_t first_of(const RowTiles& tiles, int64_t tile) { return tile * tiles.rows + std::min(tile, tiles.larger); }

}  // namespace

void for_pixel_tiles(Builder& builder, const PixelAxis& axis, int max_rows, const std::function<void(const PixelTile&)>& body) {
  const RowTiles tiles = balance_rows(axis.output, max_rows);
  const auto is_interior_tile = [&](int64_t tile) {
    return axis.is_interior(first_of(tiles, tile)) && axis.is_interior(first_of(tiles, tile + 1) - 1);
  };
  int64_t begin = 0, end = tiles.count;
  while (begin < tiles.count && !is_interior_tile(begin)) ++begin;
  while (end > begin && !is_interior_tile(end - 1)) --end;
  const auto emit_alone = [&](int64_t tile) {
    const int64_t first = first_of(tiles, tile);
    body({static_cast<int>(first_of(tiles, tile + 1) - first), builder.i64(first), first});
  };
  for (int64_t tile = 0; tile < begin; ++tile) emit_alone(tile);
  for_row_tiles(builder, tiles, builder.i64(begin), builder.i64(end), [&](int rows, Expr first) { body({rows, first, std::nullopt}); });
  for (int64_t tile = end; tile < tiles.count; ++tile) emit_alone(tile);
}

void for_inside_taps(Builder& builder, const PixelAxis& axis, Expr pixel, const std::function<void(Expr)>& body) {
  const Expr top = builder.let("top", builder.sub(builder.mul(pixel, axis.stride), axis.pad));
  const bool always_inside = axis.is_interior(0) && axis.is_interior(axis.output - 1);
  if (always_inside) {
    builder.for_loop("tap", axis.taps, body);
  } else if (axis.dilation == 1) {
    const Expr begin = builder.max(builder.i64(0), builder.sub(builder.i64(0), top));
    const Expr end = builder.min(builder.i64(axis.taps), builder.sub(builder.i64(axis.input), top));
    builder.for_loop("tap", begin, end, body);
  } else {
    builder.for_loop("tap", axis.taps, [&](Expr tap) {
      const Expr position = builder.add(top, builder.mul(tap, axis.dilation));
      const Expr inside = builder.bit_and(builder.le(builder.i64(0), position), builder.lt(position, builder.i64(axis.input)));
      builder.if_then(inside, [&] { body(tap); });
    });
  }
}

}  // namespace tiffin::kernel
