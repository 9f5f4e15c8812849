// SPDX-License-Identifier: Apache-2.0
// Vector expressions of a storage plan: postfix programs over small parameters, each operation rounded once as IEEE 754 says.
#pragma once

#include <cstdint>
#include <span>

#include "abi/artifact_generated.h"
#include "base/status.h"

namespace tiffin::params {

inline constexpr size_t kMaxExpressionDepth = 64;
inline constexpr size_t kMaxExpressionSteps = 256;

// Types, operands, depth and every read of the expression are sound; InvalidParams otherwise.
Status check_expression(const abi::StoragePlan& plan, const abi::Stored& stored);

// Writes the stored tensor's elements to `out`. `operands` has the parameter's bytes for each step that loads one. The plan is checked.
void evaluate_expression(const abi::StoragePlan& plan, const abi::Stored& stored, std::span<const std::span<const uint8_t>> operands,
                         std::span<uint8_t> out);

}  // namespace tiffin::params
