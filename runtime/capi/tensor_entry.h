// SPDX-License-Identifier: Apache-2.0
// Named tensors of the C API as a source of parameters.
#pragma once

#include "base/params/param_source.h"
#include "runtime/host/arena.h"
#include "runtime/include/tiffin/tiffin.h"

namespace tiffin::runtime {

// Entries over the tensors' own bytes, or over compact copies in `memory`, which holds the entries too. `function` names the caller in messages.
// InvalidArgument, ParamShapeMismatch, ParamTypeMismatch, OutOfMemory.
Result<params::ParamSource> to_source(const char* function, const char* const* names, const DLTensor* tensors, size_t count, Arena& memory);

}  // namespace tiffin::runtime
