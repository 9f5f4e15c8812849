// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/tile.h"

#include <algorithm>

namespace tiffin::kernel {

TileSize tile_size(const Machine& machine, int64_t available_rows) {
  const int vectors_per_panel = std::max(1, kPanelWidth / machine.lanes(4));
  TileSize size;
  size.vectors = machine.vector_bytes == 64 ? 2 : vectors_per_panel;
  const int accumulators = machine.vector_registers == 32 ? 28 : 12;
  size.rows = accumulators / size.vectors;
  // Beside the accumulators there is a register for each vector of columns and one for the scalar of a row.
  if (machine.vector_registers == 32) size.rows = std::min(size.rows, (machine.vector_registers - 1) / size.vectors - 1);
  if (available_rows >= size.rows) return size;
  size.rows = static_cast<int>(std::max<int64_t>(available_rows, 1));
  // Few rows: more columns keep as many sums in flight as hide the latency of FMA.
  while (size.rows * size.vectors * 2 <= accumulators && size.vectors < 4 * vectors_per_panel) size.vectors *= 2;
  return size;
}

Tile::Tile(Builder& builder, int rows, int vectors, int lanes) : builder_(builder), rows_(rows), vectors_(vectors), lanes_(lanes) {
  const Expr zero = builder.real({DType::Float32, static_cast<uint16_t>(lanes)}, 0);
  for (int i = 0; i < rows * vectors; ++i) registers_.push_back(builder.add_register("acc", zero));
}

void Tile::accumulate(const std::function<Expr(int)>& a, const std::function<Expr(int)>& b) {
  std::vector<Expr> columns;
  for (int v = 0; v < vectors_; ++v) columns.push_back(builder_.let("b", b(v)));
  for (int r = 0; r < rows_; ++r) {
    const Expr scalar = a(r);
    if (scalar == nullptr) continue;
    const Expr row = builder_.let("a", builder_.splat(scalar, lanes_));
    for (int v = 0; v < vectors_; ++v) {
      const Expr sum = registers_[static_cast<size_t>(r * vectors_ + v)];
      builder_.set(sum, builder_.fma(row, columns[static_cast<size_t>(v)], sum));
    }
  }
}

void Tile::accumulate_vectors(const std::function<Expr(int)>& a, Expr b) {
  const Expr shared = builder_.let("b", b);
  for (int r = 0; r < rows_; ++r) {
    const Expr row = a(r);
    if (row == nullptr) continue;
    const Expr sum = registers_[static_cast<size_t>(r)];
    builder_.set(sum, builder_.fma(row, shared, sum));
  }
}

void store_tile(Lowering& lowering, const Tile& tile, const std::function<Index(int, int)>& index, const std::function<int(int)>& active) {
  Builder& b = lowering.b();
  const std::vector<int64_t> shape = lowering.shape(lowering.tile_root);
  for (int v = 0; v < tile.vectors(); ++v) {
    lowering.active = active(v) == 0 ? nullptr : b.i64(active(v));
    for (int r = 0; r < tile.rows(); ++r) {
      Index point = index(r, v);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) point[axis] = b.i64(0);  // as broadcasting operands are indexed
      }
      lowering.root_values.clear();
      lowering.root_values[point] = tile.value(r, v);
      for (const graph::ValueId output : lowering.outputs()) lowering.store(output, point, lowering.value(output, point));
    }
  }
  lowering.root_values.clear();
  lowering.active = nullptr;
}

RowTiles balance_rows(int64_t extent, int max_rows) {
  RowTiles tiles;
  tiles.count = std::max<int64_t>(1, (extent + max_rows - 1) / max_rows);
  tiles.rows = static_cast<int>(extent / tiles.count);
  tiles.larger = extent % tiles.count;
  return tiles;
}

void for_row_tiles(Builder& builder, const RowTiles& tiles, Expr begin, Expr end, const std::function<void(int, Expr)>& body) {
  const Expr border = builder.i64(tiles.larger);
  if (tiles.larger > 0) {
    builder.for_loop("tile", begin, builder.min(end, border), [&](Expr i) { body(tiles.rows + 1, builder.mul(i, tiles.rows + 1)); });
  }
  if (tiles.larger < tiles.count) {
    builder.for_loop("tile", builder.max(begin, border), end, [&](Expr i) { body(tiles.rows, builder.add(builder.mul(i, tiles.rows), border)); });
  }
}

}  // namespace tiffin::kernel
