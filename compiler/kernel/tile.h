// SPDX-License-Identifier: Apache-2.0
// The register tile that matrix products and convolutions share: rows x vectors accumulators, fed by one scalar of each row and one vector of each
// column group per step of the reduction, and written through the group's epilogue. Sizes of tiles follow from the registers of the machine (BLIS:
// van Zee & van de Geijn, ACM TOMS 41(3), 2015, for the idea; the sizes are measured).
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/lowering.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

// Columns of a packed panel, on every machine.
inline constexpr int kPanelWidth = static_cast<int>(ops::kPanelColumns);

// rows x vectors accumulators that leave room for the operands: AVX-512 14x2, AVX2 6x2, SSE and NEON 3x4 or 6x4.
struct TileSize {
  int rows = 1, vectors = 1;
};
TileSize tile_size(const Machine& machine, int64_t available_rows);

class Tile {
 public:
  // Declares the accumulators, zero.
  Tile(Builder& builder, int rows, int vectors, int lanes);

  // acc[r][v] += a(r) * b(v) for rows where a(r) is not null. a gives a scalar, b a vector; each is called once.
  void accumulate(const std::function<Expr(int)>& a, const std::function<Expr(int)>& b);

  // acc[r][0] += a(r) * b, for tiles of one vector a row, where a gives vectors.
  void accumulate_vectors(const std::function<Expr(int)>& a, Expr b);

  int rows() const { return rows_; }
  int vectors() const { return vectors_; }
  Expr value(int row, int vector) const { return registers_[static_cast<size_t>(row * vectors_ + vector)]; }

 private:
  Builder& builder_;
  int rows_, vectors_, lanes_;
  std::vector<Expr> registers_;
};

// Computes the group's outputs from the finished tile and stores them. `index(r, v)` is the root's index of accumulator (r, v), its last axis with
// lanes; `active(v)` is the number of lanes to store of vector v, 0 for all.
void store_tile(Lowering& lowering, const Tile& tile, const std::function<Index(int, int)>& index, const std::function<int(int)>& active);

// Extents of balanced tiles: `count` tiles, the first `larger` of them one row longer than `rows`.
struct RowTiles {
  int64_t count = 1, larger = 0;
  int rows = 1;
};
RowTiles balance_rows(int64_t extent, int max_rows);

// Runs `body(rows, first_row)` for the tiles [begin, end) of a balanced split.
void for_row_tiles(Builder& builder, const RowTiles& tiles, Expr begin, Expr end, const std::function<void(int, Expr)>& body);

}  // namespace tiffin::kernel
