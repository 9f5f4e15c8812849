// SPDX-License-Identifier: Apache-2.0
// Manifests between the sound sections of a small model.
#include "fuzz/artifacts.h"
#include "fuzz/frame.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  static Frame frame(TIFFIN_FUZZ_MODEL, TIFFIN_SECTION_MANIFEST);
  return walk_artifact(frame.around(bytes), false);
}
