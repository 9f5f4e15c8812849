// SPDX-License-Identifier: Apache-2.0
// Hashing the values of a parameter file.
#pragma once

#include "base/status.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::tools {

// The file fits the artifact, and its values have the model's digests; with `new_weights` those that the file itself records, if it does.
// Io, the codes of base/params/bind.h, DigestMismatch.
Status verify_params(const runtime::Artifact& artifact, const char* path, bool new_weights);

}  // namespace tiffin::tools
