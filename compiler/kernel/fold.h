// SPDX-License-Identifier: Apache-2.0
// Constant folding of single Kernel IR nodes, with the semantics of ir.h.
#pragma once

#include <optional>

#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

// An integer of `dtype` (or Bool) from its low bits.
int64_t wrap_integer(DType dtype, int64_t value);

// The constant that `op` makes of two constants of one type, if it is one that is folded here.
std::optional<ExprNode> fold_binary(BinaryOp op, const ExprNode& a, const ExprNode& b);

// Likewise for a conversion.
std::optional<ExprNode> fold_cast(const ExprNode& a, DType dtype);

}  // namespace tiffin::kernel
