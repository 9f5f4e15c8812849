// SPDX-License-Identifier: Apache-2.0
// Makes the digests of a damaged artifact true again, so that the checks behind them are reached.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tiffin::fuzz {

// Digests of sections, contents and header of a shared object or a tar archive, as far as they can be found; checksums and recorded lengths of
// members too.
void repair_artifact(std::vector<uint8_t>& file);

}  // namespace tiffin::fuzz
