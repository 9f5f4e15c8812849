// SPDX-License-Identifier: Apache-2.0
// A whole file as bytes, mapped read-only; the mapping lives as long as its owner is held.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace tiffin::import {

struct MappedFile {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

// Errors: Io with the path (missing, a directory, not a regular file, not readable).
Result<MappedFile> map_file(const std::string& path);

}  // namespace tiffin::import
