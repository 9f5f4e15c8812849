// SPDX-License-Identifier: Apache-2.0
// Depthwise float32 convolution on blocked channels: a vector is one block of channels of one pixel; a tile is several pixels of a row, which share
// each tap's weights. Weights are panels [C/16, kh, kw, 16].
#include <algorithm>

#include "compiler/kernel/tile_pixels.h"
#include "compiler/kernel/tile_rules.h"
#include "compiler/ops/window.h"

namespace tiffin::kernel {
namespace {

using graph::Node;
using graph::Op;

class DepthwiseTiles {
 public:
  DepthwiseTiles(Lowering& lowering, const Node& node) : lowering_(lowering), b_(lowering.b()), node_(node) {}

  Status emit() {
    TIFFIN_TRY(resolve());
    b_.unit_loop([&](Expr unit) { emit_unit(unit); });
    return {};
  }

 private:
  Status resolve();
  void emit_unit(Expr unit);
  void emit_tile(const PixelTile& pixels, Expr row, Expr image, Expr channel_block, int64_t lane_offset);

  Lowering& lowering_;
  Builder& b_;
  const Node& node_;
  const Buffer* input_ = nullptr;
  const Buffer* weights_ = nullptr;
  int64_t block_ = 8, blocks_ = 1;
  PixelAxis rows_, columns_;
  int lanes_ = 8, max_pixels_ = 4;
  int64_t rows_per_unit_ = 1, row_units_ = 1;
};

Status DepthwiseTiles::resolve() {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Window window, ops::window_of(lowering_.graph(), node_));
  const std::vector<int64_t> x = lowering_.shape(node_.inputs[0]), y = lowering_.shape(node_.outputs[0]);
  input_ = lowering_.buffer_of(node_.inputs[0]);
  weights_ = lowering_.buffer_of(node_.inputs[1]);
  blocks_ = x[1];
  block_ = x[4];
  const auto axis = [&](size_t i, int64_t input, int64_t output) {
    return PixelAxis{input, output, window.kernel[i], window.strides[i], window.pads_begin[i], window.dilations[i]};
  };
  rows_ = axis(0, x[2], y[2]);
  columns_ = axis(1, x[3], y[3]);
  lanes_ = lowering_.machine().lanes(4);
  max_pixels_ = lowering_.machine().vector_registers == 32 ? 14 : 8;
  const int64_t row_work = columns_.output * rows_.taps * columns_.taps * block_;
  rows_per_unit_ = std::clamp<int64_t>(100'000 / std::max<int64_t>(row_work, 1), 1, rows_.output);
  row_units_ = (rows_.output + rows_per_unit_ - 1) / rows_per_unit_;
  Kernel& kernel = lowering_.kernel();
  kernel.units = x[0] * blocks_ * row_units_;
  kernel.grain = std::max<int64_t>(1, 20'000 / std::max<int64_t>(row_work * rows_per_unit_, 1));
  return {};
}

void DepthwiseTiles::emit_unit(Expr unit) {
  const Expr block_index = b_.let("block_index", b_.div(unit, row_units_)), row_unit = b_.let("row_unit", b_.mod(unit, row_units_));
  const Expr image = b_.let("image", b_.div(block_index, blocks_)), channel_block = b_.let("channel_block", b_.mod(block_index, blocks_));
  const Expr begin = b_.mul(row_unit, rows_per_unit_);
  const Expr end = b_.min(b_.add(begin, rows_per_unit_), b_.i64(rows_.output));
  b_.for_loop("row", begin, end, [&](Expr row) {
    for (int64_t offset = 0; offset < block_; offset += lanes_) {
      for_pixel_tiles(b_, columns_, max_pixels_, [&](const PixelTile& pixels) { emit_tile(pixels, row, image, channel_block, offset); });
    }
  });
}

void DepthwiseTiles::emit_tile(const PixelTile& pixels, Expr row, Expr image, Expr channel_block, int64_t lane_offset) {
  PixelTile known = pixels;
  if (!known.position) known.first = b_.let("pixel", pixels.first);
  Tile tile(b_, pixels.rows, 1, lanes_);
  const Expr plane = b_.mul(b_.add(b_.mul(image, blocks_), channel_block), rows_.input * columns_.input * block_);
  // A block of 8 channels is half a panel.
  const Expr channel = b_.add(b_.mul(channel_block, block_), lane_offset);
  const Expr panel = b_.add(b_.mul(b_.div(channel, kPanelWidth), rows_.taps * columns_.taps * kPanelWidth), b_.mod(channel, kPanelWidth));
  const Expr weight_base = b_.let("weight_base", panel);
  for_inside_taps(b_, rows_, row, [&](Expr row_tap) {
    const Expr input_row = b_.add(b_.sub(b_.mul(row, rows_.stride), rows_.pad), b_.mul(row_tap, rows_.dilation));
    const Expr first_column = b_.sub(b_.mul(known.first, columns_.stride), columns_.pad);
    Expr base = b_.add(b_.add(plane, lane_offset), b_.mul(input_row, columns_.input * block_));
    base = b_.let("input_base", b_.add(base, b_.mul(first_column, block_)));
    const Expr weight_row = b_.let("weight_row", b_.add(weight_base, b_.mul(row_tap, columns_.taps * kPanelWidth)));
    for (int64_t tap = 0; tap < columns_.taps; ++tap) {
      const auto is_outside = [&](int r) { return known.position && !columns_.is_inside(*known.position + r, tap); };
      tile.accumulate_vectors(
          [&](int r) {
            return is_outside(r) ? nullptr : b_.load(input_, b_.add(base, (r * columns_.stride + tap * columns_.dilation) * block_), lanes_);
          },
          b_.load(weights_, b_.add(weight_row, tap * kPanelWidth), lanes_));
    }
  });
  store_tile(
      lowering_, tile,
      [&](int r, int) {
        return Index{image, channel_block, row, b_.add(known.first, r), b_.lanes(b_.i64(lane_offset), 1, lanes_)};
      },
      [](int) { return 0; });
}

}  // namespace

bool has_depthwise_tiles(const Lowering& lowering, const Node& node) {
  return node.op == Op::BlockedDepthwiseConv && lowering.dtype(node.inputs[0]) == DType::Float32 && lowering.buffer_of(node.inputs[0]) != nullptr &&
         lowering.buffer_of(node.inputs[1]) != nullptr;
}

Status emit_depthwise_tiles(Lowering& lowering, const Node& node) { return DepthwiseTiles(lowering, node).emit(); }

}  // namespace tiffin::kernel
