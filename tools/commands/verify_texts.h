// SPDX-License-Identifier: Apache-2.0
// The texts of a bundle, which are derived from its sections, against what they derive from.
#pragma once

#include "runtime/artifact/artifact.h"

namespace tiffin::tools {

// DigestMismatch naming the member that differs, NotAnArtifact when it is absent, Io, OutOfMemory. Ok for a shared object, which has none.
Status verify_texts(const runtime::Artifact& artifact);

}  // namespace tiffin::tools
