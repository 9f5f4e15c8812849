// SPDX-License-Identifier: Apache-2.0
// What targets do with an artifact: everything that users can without running its machine code.
#pragma once

#include <cstdint>
#include <span>

namespace tiffin::fuzz {

// Opens it; then chooses a variant for several machines, loads it as data, makes executors and reads its parameters, and lets `inspect` and `doctor`
// answer. With `may_run`, whose kernels all end soon, the executors run. True when it could be opened.
bool walk_artifact(std::span<const uint8_t> file, bool may_run);

}  // namespace tiffin::fuzz
