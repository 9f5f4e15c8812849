// SPDX-License-Identifier: Apache-2.0
// Writes parameter deltas.
#pragma once

#include <span>

#include "base/params/compare_sets.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// Writes what leads from `before` to `after`: `changes` is what compare_sets gave of the two. Atomic; memory for one tensor. Io, OutOfMemory.
Status write_delta_file(const char* path, const ParamSource& before, const ParamSource& after, std::span<const TensorChange> changes);

}  // namespace tiffin::params
