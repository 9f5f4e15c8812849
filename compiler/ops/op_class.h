// SPDX-License-Identifier: Apache-2.0
// How an operator's result elements come from its operands: what the planner may fuse.
#pragma once

#include "compiler/graph/op.h"

namespace tiffin::ops {

enum class OpClass : uint8_t {
  Elementwise,  // element i needs elements i of the (broadcast) operands and nothing else
  View,         // the operand's bytes under another shape
  Movement,     // element i is one element of one operand, at indices computed from i
  Heavy,        // everything else: sums, windows, scans, recurrences
};

OpClass op_class(graph::Op op);

// True when the result follows from the shape of operand 0, whatever its elements.
bool reads_only_the_shape(graph::Op op);

}  // namespace tiffin::ops
