// SPDX-License-Identifier: Apache-2.0
// SHA-256 of a file, as people compare it with `sha256sum`.
#pragma once

#include <string>

#include "base/status.h"

namespace tiffin::codegen {

// 64 lower-case hexadecimal digits. Io when the file cannot be read. Reads through a mapping: memory does not grow with the file.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace tiffin::codegen
