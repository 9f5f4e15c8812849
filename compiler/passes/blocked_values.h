// SPDX-License-Identifier: Apache-2.0
// Which plain values have a blocked form, and conversions between the two, made at most once each; for block_channels.
#pragma once

#include <map>

#include "compiler/passes/rewriter.h"

namespace tiffin::passes {

// Plain [N, C, H, W], blocked [N, ceil(C / b), H, W, b]; channels beyond C hold anything.
class BlockedValues {
 public:
  BlockedValues(graph::Graph& graph, int64_t block) : graph_(graph), block_(block) {}

  bool is_blocked(ValueId plain) const { return plain != graph::kNone && blocked_.count(plain) != 0; }
  // From here on the plain value is computed in blocked form only.
  void set_blocked(ValueId plain, ValueId blocked) { blocked_[plain] = blocked; }
  ValueId blocked(Rewriter& rewriter, ValueId plain);
  // The value itself, or made from its blocked form.
  ValueId plain(Rewriter& rewriter, ValueId value);
  // A value with one element for each of `channels` channels as [1, C/b, 1, 1, b].
  ValueId blocked_channels(Rewriter& rewriter, ValueId value, int64_t channels);
  // Makes graph outputs plain again.
  Status replace_outputs();

 private:
  graph::Graph& graph_;
  int64_t block_;
  std::map<ValueId, ValueId> blocked_, plain_, converted_;
};

}  // namespace tiffin::passes
