// SPDX-License-Identifier: Apache-2.0
// Writes a set of parameters in a format that needs no storage plan; params::write_weights writes the one that does.
#pragma once

#include "base/byte_sink.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// Safetensors or TvmParams; Internal for Weights. The sink's errors, OutOfMemory.
Status write_foreign(Format format, const ParamSource& source, const ByteSink& sink);

}  // namespace tiffin::params
