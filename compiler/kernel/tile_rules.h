// SPDX-License-Identifier: Apache-2.0
// The kernels that are built from register tiles. Each computes its node as the heavy root of a group, elementwise consumers included.
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

struct TileRule {
  graph::Op op;
  // True when the node's types, operands and attributes are ones that the tiles compute.
  bool (*matches)(const Lowering&, const graph::Node&);
  // Emits the kernel of the prepared group.
  Status (*emit)(Lowering&, const graph::Node&);
};

// The node of the group that tiles compute and how, or nulls.
struct TileRoot {
  const TileRule* rule = nullptr;
  const graph::Node* node = nullptr;
};
TileRoot find_tile_root(const Lowering& lowering);

// Emits the whole group around its tile root.
Status emit_tiles(Lowering& lowering, const TileRoot& root);

// Operands of the elementwise consumers that the group's output may replace: (input parameter, output parameter).
std::vector<std::pair<int, int>> tile_in_place_pairs(const Lowering& lowering, const TileRoot& root);

// For operators that only tiles compute.
Result<ElementFn> define_tile_root(Lowering& lowering, const graph::Node& node);

bool has_matmul_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_matmul_tiles(Lowering& lowering, const graph::Node& node);
bool has_convolution_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_convolution_tiles(Lowering& lowering, const graph::Node& node);
bool has_transposed_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_transposed_tiles(Lowering& lowering, const graph::Node& node);
bool has_depthwise_tiles(const Lowering& lowering, const graph::Node& node);
Status emit_depthwise_tiles(Lowering& lowering, const graph::Node& node);

}  // namespace tiffin::kernel
