// SPDX-License-Identifier: Apache-2.0
// How far the values of tensors lie apart that two artifacts hold.
#pragma once

#include <vector>

#include "base/status.h"
#include "runtime/artifact/artifact.h"
#include "tools/tiffin/compare_artifacts.h"

namespace tiffin::tools {

// Sets max_difference of every tensor: 0 for equal ones, the largest |before - after| of changed ones whose type and shape stayed and whose values
// both files hold, NaN elsewhere. Weights are mapped, not read as a whole. Io, OutOfMemory.
Status measure_tensors(const runtime::Artifact& before, const runtime::Artifact& after, std::vector<Difference>& tensors);

}  // namespace tiffin::tools
