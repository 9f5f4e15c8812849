// SPDX-License-Identifier: Apache-2.0
// Direct float32 convolution by register tiles, after Georganas et al., "Anatomy of high-performance deep learning convolutions on SIMD
// architectures" (SC 2018): rows of the tile are output pixels, columns output channels. The result's channels are blocked; the input's may be, or
// not (the first layer). Weights are panels [O/16, kh, kw, I, 16]. Taps outside the image are left out, nothing is padded or copied.
#include <algorithm>

#include "compiler/kernel/tile_pixels.h"
#include "compiler/kernel/tile_rules.h"
#include "compiler/ops/window.h"

namespace tiffin::kernel {
namespace {

using graph::Node;
using graph::Op;

class ConvolutionTiles {
 public:
  ConvolutionTiles(Lowering& lowering, const Node& node) : lowering_(lowering), b_(lowering.b()), node_(node) {}

  Status emit() {
    TIFFIN_TRY(resolve());
    choose_schedule();
    b_.unit_loop([&](Expr unit) { emit_unit(unit); });
    return {};
  }

 private:
  Status resolve();
  void flatten_pointwise();
  void swap_axes_of_column();
  void choose_schedule();
  void emit_unit(Expr unit);
  void emit_row(Expr column_tile, Expr row, int vectors);
  void emit_tile(const PixelTile& pixels, Expr column_tile, Expr row, int vectors);
  void emit_channels(Tile& tile, const PixelTile& pixels, Expr column_tile, Expr channel_block, Expr row_tap, Expr row, int64_t channels);
  void emit_taps(Tile& tile, const PixelTile& pixels, Expr weight_base, Expr input_base, int64_t channels);
  void step(Tile& tile, const PixelTile& pixels, Expr weight_base, Expr input_base, Expr column_tap, int64_t channel);

  Lowering& lowering_;
  Builder& b_;
  const Node& node_;
  const Buffer* input_ = nullptr;
  const Buffer* weights_ = nullptr;
  bool input_is_blocked_ = true;
  bool is_column_ = false;
  int64_t images_ = 1, in_channels_ = 1, block_ = 8, out_blocks_ = 1;
  PixelAxis rows_, columns_;
  int64_t row_stride_ = 0, pixel_stride_ = 0, channel_stride_ = 1, block_stride_ = 0, image_stride_ = 0;  // of the input, in elements
  int lanes_ = 8;
  TileSize tile_;
  int64_t column_tiles_ = 1, full_tiles_ = 1, rows_per_unit_ = 1, row_units_ = 1;
  bool channels_are_inner_ = false;
  Expr image_ = nullptr;
};

Status ConvolutionTiles::resolve() {
  TIFFIN_ASSIGN_OR_RETURN(const ops::Window window, ops::window_of(lowering_.graph(), node_));
  const std::vector<int64_t> x = lowering_.shape(node_.inputs[0]), y = lowering_.shape(node_.outputs[0]);
  input_ = lowering_.buffer_of(node_.inputs[0]);
  weights_ = lowering_.buffer_of(node_.inputs[1]);
  input_is_blocked_ = x.size() == 5;
  images_ = x[0];
  block_ = y[4];
  out_blocks_ = y[1];
  in_channels_ = lowering_.shape(node_.inputs[1])[3];
  const int64_t height = x[2], width = x[3];
  const auto axis = [&](size_t i, int64_t input, int64_t output) {
    return PixelAxis{input, output, window.kernel[i], window.strides[i], window.pads_begin[i], window.dilations[i]};
  };
  rows_ = axis(0, height, y[2]);
  columns_ = axis(1, width, y[3]);
  pixel_stride_ = input_is_blocked_ ? block_ : 1;
  row_stride_ = width * pixel_stride_;
  channel_stride_ = input_is_blocked_ ? 1 : height * width;
  block_stride_ = height * width * block_;
  image_stride_ = input_is_blocked_ ? x[1] * block_stride_ : x[1] * channel_stride_;
  flatten_pointwise();
  swap_axes_of_column();
  return {};
}

// A column of pixels is walked like a row: both lie in memory alike.
void ConvolutionTiles::swap_axes_of_column() {
  if (columns_.input != 1 || columns_.output != 1 || columns_.taps != 1 || columns_.pad != 0 || rows_.output == 1) return;
  std::swap(rows_, columns_);
  is_column_ = true;
}

// A 1x1 convolution without stride or padding sees one long row of pixels.
void ConvolutionTiles::flatten_pointwise() {
  const auto is_plain = [](const PixelAxis& axis) { return axis.taps == 1 && axis.stride == 1 && axis.pad == 0 && axis.input == axis.output; };
  if (!is_plain(rows_) || !is_plain(columns_)) return;
  columns_.input = columns_.output = rows_.input * columns_.input;
  rows_.input = rows_.output = 1;
}

void ConvolutionTiles::choose_schedule() {
  lanes_ = lowering_.machine().lanes(4);
  tile_ = tile_size(lowering_.machine(), columns_.output);
  const int64_t vectors = out_blocks_ * block_ / lanes_;
  column_tiles_ = (vectors + tile_.vectors - 1) / tile_.vectors;
  full_tiles_ = vectors / tile_.vectors;
  const int64_t row_work = columns_.output * rows_.taps * columns_.taps * in_channels_ * tile_.vectors * lanes_;
  constexpr int64_t kWorkPerUnit = 400'000;
  rows_per_unit_ = std::clamp<int64_t>(kWorkPerUnit / std::max<int64_t>(row_work, 1), 1, rows_.output);
  row_units_ = (rows_.output + rows_per_unit_ - 1) / rows_per_unit_;
  const int64_t input_bytes = image_stride_ * 4, weight_bytes = weights_->size * 4, cache = lowering_.machine().l2_bytes / 2;
  const int64_t channels_outer = input_bytes > cache ? input_bytes * column_tiles_ : input_bytes;
  const int64_t rows_outer = weight_bytes > cache ? weight_bytes * row_units_ : weight_bytes;
  channels_are_inner_ = channels_outer + weight_bytes > rows_outer + input_bytes;
  Kernel& kernel = lowering_.kernel();
  kernel.units = images_ * column_tiles_ * row_units_;
  kernel.grain = std::max<int64_t>(1, 30'000 / std::max<int64_t>(row_work * rows_per_unit_, 1));
}

void ConvolutionTiles::emit_unit(Expr unit) {
  const int64_t per_image = column_tiles_ * row_units_, inner = channels_are_inner_ ? column_tiles_ : row_units_;
  image_ = b_.let("image", b_.div(unit, per_image));
  const Expr inside = b_.let("inside", b_.mod(unit, per_image));
  const Expr major = b_.let("major", b_.div(inside, inner)), minor = b_.let("minor", b_.mod(inside, inner));
  const Expr row_unit = channels_are_inner_ ? major : minor, column_tile = channels_are_inner_ ? minor : major;
  const Expr begin = b_.mul(row_unit, rows_per_unit_);
  const Expr end = b_.min(b_.add(begin, rows_per_unit_), b_.i64(rows_.output));
  b_.for_loop("row", begin, end, [&](Expr row) {
    const auto whole = [&] { emit_row(column_tile, row, tile_.vectors); };
    const auto last = [&] { emit_row(b_.i64(full_tiles_), row, static_cast<int>(out_blocks_ * block_ / lanes_ - full_tiles_ * tile_.vectors)); };
    if (full_tiles_ == column_tiles_) {
      whole();
    } else if (full_tiles_ == 0) {
      last();
    } else {
      b_.if_then(b_.lt(column_tile, b_.i64(full_tiles_)), whole, last);
    }
  });
}

void ConvolutionTiles::emit_row(Expr column_tile, Expr row, int vectors) {
  for_pixel_tiles(b_, columns_, tile_.rows, [&](const PixelTile& pixels) { emit_tile(pixels, column_tile, row, vectors); });
}

void ConvolutionTiles::emit_tile(const PixelTile& pixels, Expr column_tile, Expr row, int vectors) {
  PixelTile known = pixels;
  if (!known.position) known.first = b_.let("pixel", pixels.first);
  Tile tile(b_, pixels.rows, vectors, lanes_);
  const int64_t per_block = input_is_blocked_ ? block_ : 1;
  const int64_t whole_blocks = in_channels_ / per_block, rest = in_channels_ % per_block;
  const auto channel_block = [&](Expr index, int64_t channels) {
    for_inside_taps(b_, rows_, row, [&](Expr tap) { emit_channels(tile, known, column_tile, index, tap, row, channels); });
  };
  b_.for_loop("channels", whole_blocks, [&](Expr index) { channel_block(index, per_block); });
  if (rest > 0) channel_block(b_.i64(whole_blocks), rest);

  const int64_t width = tile_.vectors * lanes_;
  store_tile(
      lowering_, tile,
      [&](int r, int v) {
        const int64_t column = v * lanes_;
        const Expr out_block = b_.add(b_.mul(column_tile, width / block_), column / block_);
        Index index = {image_, out_block, row, b_.add(known.first, r), b_.lanes(b_.i64(column % block_), 1, lanes_)};
        if (is_column_) {
          std::swap(index[2], index[3]);
        } else if (rows_.output == 1 && lowering_.shape(node_.outputs[0])[2] != 1) {  // flattened: back to row and column
          const Index pixel =
              lowering_.unflatten(index[3], std::vector<int64_t>{lowering_.shape(node_.outputs[0])[2], lowering_.shape(node_.outputs[0])[3]});
          index[2] = pixel[0];
          index[3] = pixel[1];
        }
        return index;
      },
      [](int) { return 0; });
}

// All taps of one row of the window, for `channels` channels of one block.
void ConvolutionTiles::emit_channels(Tile& tile, const PixelTile& pixels, Expr column_tile, Expr channel_block, Expr row_tap, Expr row,
                                     int64_t channels) {
  const int64_t panel_size = rows_.taps * columns_.taps * in_channels_ * kPanelWidth, width = tile_.vectors * lanes_;
  const int64_t per_block = input_is_blocked_ ? block_ : 1;
  Expr weight_base = b_.add(b_.mul(column_tile, width / kPanelWidth * panel_size), b_.mul(row_tap, columns_.taps * in_channels_ * kPanelWidth));
  weight_base = b_.let("weight_base", b_.add(weight_base, b_.mul(channel_block, per_block * kPanelWidth)));
  const Expr input_row = b_.add(b_.sub(b_.mul(row, rows_.stride), rows_.pad), b_.mul(row_tap, rows_.dilation));
  const Expr first_column = b_.sub(b_.mul(pixels.first, columns_.stride), columns_.pad);
  Expr input_base = b_.add(b_.mul(image_, image_stride_), b_.mul(channel_block, input_is_blocked_ ? block_stride_ : channel_stride_));
  input_base = b_.add(b_.add(input_base, b_.mul(input_row, row_stride_)), b_.mul(first_column, pixel_stride_));
  emit_taps(tile, pixels, weight_base, b_.let("input_base", input_base), channels);
}

void ConvolutionTiles::emit_taps(Tile& tile, const PixelTile& pixels, Expr weight_base, Expr input_base, int64_t channels) {
  // With few channels a step some taps are unrolled as well; all are where some pixels of the tile lack some taps.
  constexpr int64_t kSteps = 8;
  if (!pixels.position && channels < kSteps && columns_.taps > kSteps) {
    const int64_t taps_per_step = kSteps / channels, unrolled = columns_.taps / taps_per_step * taps_per_step;
    b_.for_loop("column_tap", b_.i64(0), b_.i64(unrolled),
                [&](Expr tap) {
                  for (int64_t i = 0; i < taps_per_step; ++i) {
                    for (int64_t channel = 0; channel < channels; ++channel) step(tile, pixels, weight_base, input_base, b_.add(tap, i), channel);
                  }
                },
                {taps_per_step, LoopKind::Serial});
    for (int64_t tap = unrolled; tap < columns_.taps; ++tap) {
      for (int64_t channel = 0; channel < channels; ++channel) step(tile, pixels, weight_base, input_base, b_.i64(tap), channel);
    }
    return;
  }
  if (pixels.position || channels == 1) {
    for (int64_t tap = 0; tap < columns_.taps; ++tap) {
      for (int64_t channel = 0; channel < channels; ++channel) step(tile, pixels, weight_base, input_base, b_.i64(tap), channel);
    }
    return;
  }
  b_.for_loop("column_tap", columns_.taps, [&](Expr tap) {
    for (int64_t channel = 0; channel < channels; ++channel) step(tile, pixels, weight_base, input_base, tap, channel);
  });
}

void ConvolutionTiles::step(Tile& tile, const PixelTile& pixels, Expr weight_base, Expr input_base, Expr column_tap, int64_t channel) {
  const int64_t panel_size = rows_.taps * columns_.taps * in_channels_ * kPanelWidth;
  const Expr weights = b_.add(b_.add(weight_base, b_.mul(column_tap, in_channels_ * kPanelWidth)), channel * kPanelWidth);
  const Expr inputs = b_.add(b_.add(input_base, b_.mul(column_tap, columns_.dilation * pixel_stride_)), channel * channel_stride_);
  const auto is_outside = [&](int r) {
    return pixels.position && !columns_.is_inside(*pixels.position + r, b_.index_math().form_of(column_tap).constant);
  };
  bool is_used = false;
  for (int r = 0; r < tile.rows(); ++r) is_used |= !is_outside(r);
  if (!is_used) return;
  tile.accumulate([&](int r) { return is_outside(r) ? nullptr : b_.load(input_, b_.add(inputs, r * columns_.stride * pixel_stride_)); },
                  [&](int v) {
                    const int64_t column = v * lanes_;
                    return b_.load(weights_, b_.add(weights, column / kPanelWidth * panel_size + column % kPanelWidth), lanes_);
                  });
}

}  // namespace

bool has_convolution_tiles(const Lowering& lowering, const Node& node) {
  return node.int_attribute("transposed", 0) == 0 && lowering.dtype(node.inputs[0]) == DType::Float32 &&
         lowering.buffer_of(node.inputs[0]) != nullptr && lowering.buffer_of(node.inputs[1]) != nullptr;
}

Status emit_convolution_tiles(Lowering& lowering, const Node& node) { return ConvolutionTiles(lowering, node).emit(); }

}  // namespace tiffin::kernel
