// SPDX-License-Identifier: Apache-2.0
// Shared objects whose digests are true.
#include <vector>

#include "fuzz/artifacts.h"
#include "fuzz/repair.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  if (!is_left_unrepaired(bytes)) repair_artifact(file);
  return walk_artifact(file, false);
}
