// SPDX-License-Identifier: Apache-2.0
// Float32 matrix products by register tiles. The right operand is packed into panels (a parameter, see plan/placement.h) or row-major. A column
// tile of the right operand stays in cache while the row tiles of a block pass over it; K is never split.
#include <algorithm>

#include "compiler/kernel/tile.h"
#include "compiler/kernel/tile_rules.h"

namespace tiffin::kernel {
namespace {

using graph::Node;
using graph::Op;

constexpr int kUnroll = 4;
constexpr double kWorkPerUnit = 400e3;  // multiply-adds; some 10 microseconds

class MatmulTiles {
 public:
  MatmulTiles(Lowering& lowering, const Node& node) : lowering_(lowering), b_(lowering.b()), node_(node) {}

  Status emit() {
    resolve();
    choose_schedule();
    Kernel& kernel = lowering_.kernel();
    kernel.units = batch_ * column_tiles_ * row_blocks_;
    b_.unit_loop([&](Expr unit) { emit_unit(unit); });
    return {};
  }

 private:
  void resolve();
  void choose_schedule();
  void emit_unit(Expr unit);
  void emit_block(Expr row_block, Expr column_tile, int vectors, int last_active);
  void emit_tile(int rows, Expr first_row, Expr column_tile, int vectors, int last_active);
  Expr left_index(Expr row, Expr k, int r);
  Expr right_index(Expr column_tile, Expr k, int v);
  Index result_index(Expr row, Expr column);

  Lowering& lowering_;
  Builder& b_;
  const Node& node_;
  const Buffer* left_ = nullptr;
  const Buffer* right_ = nullptr;
  bool is_packed_ = false;
  int64_t rows_ = 0, columns_ = 0, depth_ = 0, batch_ = 1;
  std::vector<int64_t> lead_, left_strides_, right_strides_;  // batch axes of the result; element strides of the operands along them
  std::vector<int64_t> row_shape_;                            // axes of the result that the rows are made of
  int lanes_ = 1;
  TileSize tile_;
  RowTiles row_tiles_;
  int64_t column_tiles_ = 1, full_tiles_ = 1, row_blocks_ = 1, tiles_per_block_ = 1;
  bool columns_are_inner_ = false;
  Expr left_base_ = nullptr, right_base_ = nullptr;
  Index batch_index_;
};

// Strides of an operand's leading axes in the result's leading axes, 0 where it is broadcast.
std::vector<int64_t> batch_strides(const std::vector<int64_t>& shape, size_t batch_rank, const std::vector<int64_t>& lead) {
  std::vector<int64_t> strides(lead.size(), 0);
  int64_t stride = shape[shape.size() - 1] * shape[shape.size() - 2];
  for (size_t i = 0; i < batch_rank; ++i) {
    const size_t axis = batch_rank - 1 - i;
    if (shape[axis] > 1) strides[lead.size() - 1 - i] = stride;
    stride *= shape[axis];
  }
  return strides;
}

void MatmulTiles::resolve() {
  const std::vector<int64_t> a = lowering_.shape(node_.inputs[0]), c = lowering_.shape(node_.outputs[0]);
  left_ = lowering_.buffer_of(node_.inputs[0]);
  right_ = lowering_.buffer_of(node_.inputs[1]);
  is_packed_ = node_.op == Op::PackedMatMul;
  columns_ = c.back();
  depth_ = a.back();
  lanes_ = lowering_.machine().lanes(4);
  if (is_packed_) {
    row_shape_.assign(c.begin(), c.end() - 1);
    rows_ = graph::num_elements(row_shape_);
    return;
  }
  const std::vector<int64_t> right_shape = lowering_.shape(node_.inputs[1]);
  rows_ = c[c.size() - 2];
  row_shape_ = {rows_};
  lead_.assign(c.begin(), c.end() - 2);
  batch_ = graph::num_elements(lead_);
  left_strides_ = batch_strides(a, a.size() - 2, lead_);
  right_strides_ = batch_strides(right_shape, right_shape.size() - 2, lead_);
}

void MatmulTiles::choose_schedule() {
  tile_ = tile_size(lowering_.machine(), rows_);
  const int64_t width = tile_.vectors * lanes_;
  full_tiles_ = columns_ / width;
  column_tiles_ = (columns_ + width - 1) / width;
  row_tiles_ = balance_rows(rows_, tile_.rows);
  const double tile_work = static_cast<double>(tile_.rows) * static_cast<double>(width) * static_cast<double>(depth_);
  tiles_per_block_ = std::clamp<int64_t>(static_cast<int64_t>(kWorkPerUnit / std::max(tile_work, 1.0)), 1, row_tiles_.count);
  row_blocks_ = (row_tiles_.count + tiles_per_block_ - 1) / tiles_per_block_;
  // The operand in the outer loop is read once, the other one once for each step of that loop, unless it stays in the second-level cache.
  const int64_t left_bytes = rows_ * depth_ * 4, right_bytes = columns_ * depth_ * 4, cache = lowering_.machine().l2_bytes / 2;
  const int64_t columns_outer = left_bytes > cache ? left_bytes * column_tiles_ : left_bytes;
  const int64_t rows_outer = right_bytes > cache ? right_bytes * row_blocks_ : right_bytes;
  columns_are_inner_ = columns_outer + right_bytes > rows_outer + left_bytes;
  lowering_.kernel().grain = std::max<int64_t>(1, static_cast<int64_t>(30e3 / std::max(1.0, tile_work * static_cast<double>(tiles_per_block_))));
}

void MatmulTiles::emit_unit(Expr unit) {
  const int64_t per_batch = column_tiles_ * row_blocks_;
  const Expr inside = b_.let("inside", b_.mod(unit, per_batch));
  batch_index_ = lowering_.unflatten(b_.let("batch", b_.div(unit, per_batch)), lead_);
  left_base_ = b_.i64(0);
  right_base_ = b_.i64(0);
  for (size_t axis = 0; axis < lead_.size(); ++axis) {
    left_base_ = b_.add(left_base_, b_.mul(batch_index_[axis], left_strides_[axis]));
    right_base_ = b_.add(right_base_, b_.mul(batch_index_[axis], right_strides_[axis]));
  }
  const int64_t inner = columns_are_inner_ ? column_tiles_ : row_blocks_;
  const Expr major = b_.let("major", b_.div(inside, inner)), minor = b_.let("minor", b_.mod(inside, inner));
  const Expr row_block = columns_are_inner_ ? major : minor, column_tile = columns_are_inner_ ? minor : major;

  const int64_t rest = columns_ - full_tiles_ * tile_.vectors * lanes_;
  const auto whole = [&] { emit_block(row_block, column_tile, tile_.vectors, 0); };
  const auto last = [&] {
    emit_block(row_block, b_.i64(full_tiles_), static_cast<int>((rest + lanes_ - 1) / lanes_), static_cast<int>(rest % lanes_));
  };
  if (rest == 0) {
    whole();
  } else if (full_tiles_ == 0) {
    last();
  } else {
    b_.if_then(b_.lt(column_tile, b_.i64(full_tiles_)), whole, last);
  }
}

void MatmulTiles::emit_block(Expr row_block, Expr column_tile, int vectors, int last_active) {
  const Expr begin = b_.let("begin", b_.mul(row_block, tiles_per_block_));
  const Expr end = b_.let("end", b_.min(b_.add(begin, tiles_per_block_), b_.i64(row_tiles_.count)));
  for_row_tiles(b_, row_tiles_, begin, end, [&](int rows, Expr first_row) { emit_tile(rows, first_row, column_tile, vectors, last_active); });
}

Expr MatmulTiles::left_index(Expr row, Expr k, int r) { return b_.add(b_.add(b_.add(left_base_, b_.mul(row, depth_)), k), r * depth_); }

Expr MatmulTiles::right_index(Expr column_tile, Expr k, int v) {
  const int64_t width = tile_.vectors * lanes_, column = v * lanes_;
  if (!is_packed_) return b_.add(b_.add(right_base_, b_.mul(k, columns_)), b_.add(b_.mul(column_tile, width), column));
  const int64_t panel_size = depth_ * kPanelWidth;
  const Expr tile_base = b_.mul(column_tile, width / kPanelWidth * panel_size);
  return b_.add(b_.add(tile_base, b_.mul(k, kPanelWidth)), column / kPanelWidth * panel_size + column % kPanelWidth);
}

Index MatmulTiles::result_index(Expr row, Expr column) {
  Index index = batch_index_;
  const Index rows = lowering_.unflatten(row, row_shape_);
  index.insert(index.end(), rows.begin(), rows.end());
  index.push_back(column);
  return index;
}

void MatmulTiles::emit_tile(int rows, Expr first_row, Expr column_tile, int vectors, int last_active) {
  const Expr row = b_.let("row", first_row);
  Tile tile(b_, rows, vectors, lanes_);
  const auto step = [&](Expr k) {
    tile.accumulate([&](int r) { return b_.load(left_, left_index(row, k, r)); },
                    [&](int v) {
                      // Row-major rows end with the matrix; panels are padded.
                      const bool is_short = !is_packed_ && last_active != 0 && v == vectors - 1;
                      return b_.load(right_, right_index(column_tile, k, v), lanes_, 1, is_short ? b_.i64(last_active) : nullptr);
                    });
  };
  const int64_t unrolled = depth_ / kUnroll * kUnroll;
  b_.for_loop("k", b_.i64(0), b_.i64(unrolled),
              [&](Expr k) {
                for (int j = 0; j < kUnroll; ++j) step(b_.add(k, j));
              },
              {kUnroll, LoopKind::Serial});
  for (int64_t k = unrolled; k < depth_; ++k) step(b_.i64(k));

  const Expr first_column = b_.let("column", b_.mul(column_tile, tile_.vectors * lanes_));
  store_tile(
      lowering_, tile, [&](int r, int v) { return result_index(b_.add(row, r), b_.lanes(b_.add(first_column, v * lanes_), 1, lanes_)); },
      [&](int v) { return v == vectors - 1 ? last_active : 0; });
}

}  // namespace

bool has_matmul_tiles(const Lowering& lowering, const Node& node) {
  if (node.op != Op::MatMul && node.op != Op::PackedMatMul) return false;
  if (lowering.dtype(node.inputs[0]) != DType::Float32 || lowering.buffer_of(node.inputs[0]) == nullptr) return false;
  if (lowering.buffer_of(node.inputs[1]) == nullptr) return false;
  const auto a = lowering.shape(node.inputs[0]), b = lowering.shape(node.inputs[1]), c = lowering.shape(node.outputs[0]);
  if (graph::num_elements(c) == 0 || a.back() == 0) return false;
  return node.op == Op::PackedMatMul || (a.size() >= 2 && b.size() >= 2);
}

Status emit_matmul_tiles(Lowering& lowering, const Node& node) { return MatmulTiles(lowering, node).emit(); }

}  // namespace tiffin::kernel
