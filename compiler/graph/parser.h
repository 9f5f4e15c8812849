// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a Graph (docs/architecture/graph_ir.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::graph {

// A few characters, as in fill(0), may stand for so many bytes of a tensor.
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 32;

// InvalidModel with "line L, column C: " for text that is no graph, and for larger tensors. Types that the text leaves out stay unknown until
// inferred.
Result<Graph> parse_graph(std::string_view text, uint64_t max_tensor_bytes = kMaxTensorBytes);

}  // namespace tiffin::graph
