// SPDX-License-Identifier: Apache-2.0
// Reading on where loading ends, so that all that keeps a file from being loaded can be told at once.
#include "runtime/artifact/artifact.h"

namespace tiffin::runtime {

Status Container::read_past(Source&& source, Obstacles& obstacles) {
  source_ = std::move(source);
  TIFFIN_TRY(read_header());
  obstacles.add(check_format());
  obstacles.add(check_abi());
  obstacles.add(check_completeness());
  TIFFIN_TRY(read_table());
  obstacles.add(check_kinds());
  return {};
}

Status Artifact::read_past(Source&& source, Obstacles& obstacles) {
  TIFFIN_TRY(container_.read_past(std::move(source), obstacles));
  return read_contents(VerifyLevel::None);
}

}  // namespace tiffin::runtime
