// SPDX-License-Identifier: Apache-2.0
// The extents of Attention in both of its forms: [batch, heads, length, head] and [batch, length, heads * head].
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

struct AttentionExtents {
  bool is_flat = false;  // three-dimensional inputs: heads lie side by side in the last axis
  int64_t batch = -1, query_heads = -1, key_heads = -1, query_length = -1, key_length = -1;  // key_length: of K itself, without the past
  int64_t past_length = 0, head = -1, value_head = -1;                                       // -1 when unknown
};

// InvalidModel for bad attributes and ranks, ShapeMismatch for extents that differ. Precondition: the ranks of Q, K and V are known.
Result<AttentionExtents> attention_extents(const graph::Graph& graph, const graph::Node& node);

}  // namespace tiffin::ops
