// SPDX-License-Identifier: Apache-2.0
// Programs between the sound sections of a small model of kernels as data, which then runs: whatever steps and buffers a program names, those
// kernels end.
#include "fuzz/artifacts.h"
#include "fuzz/frame.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  static Frame frame(TIFFIN_FUZZ_MODEL, TIFFIN_SECTION_PROGRAM);
  return walk_artifact(frame.around(bytes), true);
}
