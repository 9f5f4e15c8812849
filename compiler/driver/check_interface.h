// SPDX-License-Identifier: Apache-2.0
// What a compiled graph shows to its callers, against what the model file promises and what an artifact can hold.
#pragma once

#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::driver {

// Types of all values are known. `declared` are the element types that the file gives its outputs, Undefined where it gives none; or it is empty.
// InvalidModel for an output of another element type, UnsupportedType for an input, output or parameter of more than TIFFIN_MAX_RANK dimensions.
Status check_interface(const graph::Graph& graph, std::span<const DType> declared);

}  // namespace tiffin::driver
