// SPDX-License-Identifier: Apache-2.0
// Writes a set of parameters as a file of a format that needs no storage plan, and weights as a .tfw.
#pragma once

#include <span>

#include "base/digest.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/params/storage_plan.h"
#include "base/status.h"

namespace tiffin::params {

// Safetensors or TvmParams; InvalidArgument for Weights, which need a plan. Atomic.
Status write_params_file(const char* path, Format format, const ParamSource& source);

// A .tfw of the plan; atomic, memory for one stored tensor.
Status write_weights_file(const char* path, const StoragePlan& plan, std::span<const Digest> digests, const ParameterReader& reader);

}  // namespace tiffin::params
