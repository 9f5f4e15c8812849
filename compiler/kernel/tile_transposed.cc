// SPDX-License-Identifier: Apache-2.0
// Transposed float32 convolution whose windows do not overlap (stride = kernel, no padding) on blocked channels: every tap is a 1x1 convolution that
// writes its own pixels. Weights are panels [O/16, kh, kw, C, 16].
#include <algorithm>

#include "compiler/kernel/tile.h"
#include "compiler/kernel/tile_rules.h"

namespace tiffin::kernel {
namespace {

using graph::Node;

class TransposedTiles {
 public:
  TransposedTiles(Lowering& lowering, const Node& node) : lowering_(lowering), b_(lowering.b()), node_(node) {}

  Status emit() {
    resolve();
    b_.unit_loop([&](Expr unit) { emit_unit(unit); });
    return {};
  }

 private:
  void resolve();
  void emit_unit(Expr unit);
  void emit_tile(int rows, Expr first, int vectors);

  Lowering& lowering_;
  Builder& b_;
  const Node& node_;
  const Buffer* input_ = nullptr;
  const Buffer* weights_ = nullptr;
  int64_t height_ = 1, width_ = 1, channels_ = 1, in_blocks_ = 1, out_blocks_ = 1, block_ = 8, tap_rows_ = 1, tap_columns_ = 1;
  int lanes_ = 8;
  TileSize tile_;
  int64_t column_tiles_ = 1, full_tiles_ = 1;
  Expr image_ = nullptr, column_tile_ = nullptr, row_ = nullptr, tap_row_ = nullptr, tap_column_ = nullptr;
};

void TransposedTiles::resolve() {
  const std::vector<int64_t> x = lowering_.shape(node_.inputs[0]), panels = lowering_.shape(node_.inputs[1]), y = lowering_.shape(node_.outputs[0]);
  input_ = lowering_.buffer_of(node_.inputs[0]);
  weights_ = lowering_.buffer_of(node_.inputs[1]);
  in_blocks_ = x[1];
  height_ = x[2];
  width_ = x[3];
  block_ = x[4];
  out_blocks_ = y[1];
  tap_rows_ = panels[1];
  tap_columns_ = panels[2];
  channels_ = panels[3];
  lanes_ = lowering_.machine().lanes(4);
  tile_ = tile_size(lowering_.machine(), width_);
  const int64_t vectors = out_blocks_ * block_ / lanes_;
  column_tiles_ = (vectors + tile_.vectors - 1) / tile_.vectors;
  full_tiles_ = vectors / tile_.vectors;
  Kernel& kernel = lowering_.kernel();
  kernel.units = x[0] * column_tiles_ * height_ * tap_rows_;
  const int64_t work = width_ * channels_ * tap_columns_ * tile_.vectors * lanes_;
  kernel.grain = std::max<int64_t>(1, 30'000 / std::max<int64_t>(work, 1));
}

void TransposedTiles::emit_unit(Expr unit) {
  const int64_t per_column = height_ * tap_rows_;
  const Expr column = b_.let("column", b_.div(unit, per_column)), inside = b_.let("inside", b_.mod(unit, per_column));
  image_ = b_.let("image", b_.div(column, column_tiles_));
  column_tile_ = b_.let("column_tile", b_.mod(column, column_tiles_));
  row_ = b_.let("row", b_.div(inside, tap_rows_));
  tap_row_ = b_.let("tap_row", b_.mod(inside, tap_rows_));
  const auto emit_row = [&](int vectors) {
    b_.for_loop("tap_column", tap_columns_, [&](Expr tap) {
      tap_column_ = tap;
      const RowTiles tiles = balance_rows(width_, tile_.rows);
      for_row_tiles(b_, tiles, b_.i64(0), b_.i64(tiles.count), [&](int rows, Expr first) { emit_tile(rows, b_.let("pixel", first), vectors); });
    });
  };
  const int rest = static_cast<int>(out_blocks_ * block_ / lanes_ - full_tiles_ * tile_.vectors);
  if (rest == 0) {
    emit_row(tile_.vectors);
  } else if (full_tiles_ == 0) {
    emit_row(rest);
  } else {
    b_.if_then(
        b_.lt(column_tile_, b_.i64(full_tiles_)), [&] { emit_row(tile_.vectors); }, [&] { emit_row(rest); });
  }
}

void TransposedTiles::emit_tile(int rows, Expr first, int vectors) {
  Tile tile(b_, rows, vectors, lanes_);
  const int64_t tile_width = tile_.vectors * lanes_, panel_size = tap_rows_ * tap_columns_ * channels_ * kPanelWidth;
  const Expr tap = b_.add(b_.mul(tap_row_, tap_columns_), tap_column_);
  const Expr weight_base =
      b_.let("weight_base", b_.add(b_.mul(column_tile_, tile_width / kPanelWidth * panel_size), b_.mul(tap, channels_ * kPanelWidth)));
  const Expr pixel = b_.mul(b_.add(b_.mul(row_, width_), first), block_);
  const Expr input_base = b_.let("input_base", b_.add(b_.mul(image_, in_blocks_ * height_ * width_ * block_), pixel));
  const auto block_of_channels = [&](Expr index, int64_t channels) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const Expr inputs = b_.add(b_.add(input_base, b_.mul(index, height_ * width_ * block_)), channel);
      const Expr weights = b_.add(b_.add(weight_base, b_.mul(index, block_ * kPanelWidth)), channel * kPanelWidth);
      tile.accumulate([&](int r) { return b_.load(input_, b_.add(inputs, r * block_)); },
                      [&](int v) {
                        const int64_t column = v * lanes_;
                        return b_.load(weights_, b_.add(weights, column / kPanelWidth * panel_size + column % kPanelWidth), lanes_);
                      });
    }
  };
  b_.for_loop("channels", channels_ / block_, [&](Expr index) { block_of_channels(index, block_); });
  if (channels_ % block_ != 0) block_of_channels(b_.i64(channels_ / block_), channels_ % block_);
  store_tile(
      lowering_, tile,
      [&](int r, int v) {
        const int64_t column = v * lanes_;
        const Expr out_row = b_.add(b_.mul(row_, tap_rows_), tap_row_);
        const Expr out_column = b_.add(b_.mul(b_.add(first, r), tap_columns_), tap_column_);
        return Index{image_, b_.add(b_.mul(column_tile_, tile_width / block_), column / block_), out_row, out_column,
                     b_.lanes(b_.i64(column % block_), 1, lanes_)};
      },
      [](int) { return 0; });
}

}  // namespace

bool has_transposed_tiles(const Lowering& lowering, const Node& node) {
  return node.int_attribute("transposed", 0) != 0 && lowering.dtype(node.inputs[0]) == DType::Float32 && lowering.shape(node.inputs[0]).size() == 5 &&
         lowering.buffer_of(node.inputs[0]) != nullptr && lowering.buffer_of(node.inputs[1]) != nullptr;
}

Status emit_transposed_tiles(Lowering& lowering, const Node& node) { return TransposedTiles(lowering, node).emit(); }

}  // namespace tiffin::kernel
