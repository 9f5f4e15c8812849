// SPDX-License-Identifier: Apache-2.0
// A file without a place in any folder, for readers that want a path.
#pragma once

#include <cstdint>
#include <span>

namespace tiffin::fuzz {

// The path of a file with these bytes, until the next call: there is one such file, because a fresh one for every input would take most of the time.
const char* path_of_memory(std::span<const uint8_t> bytes);

}  // namespace tiffin::fuzz
