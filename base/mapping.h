// SPDX-License-Identifier: Apache-2.0
// Pages from the system: a file mapped for reading, or private zeroed memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace tiffin {

// Which file it is, whatever its name: two mappings of equal identity show the same bytes. Zeros for memory.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Owns the pages; page-aligned. Moving keeps the address.
class Mapping {
 public:
  // A whole regular file, read-only and shared through the page cache; an empty one has no pages. Io with the path and the reason.
  static Result<Mapping> open_file(const char* path);
  // Zeroed private memory; OutOfMemory.
  static Result<Mapping> create_private(uint64_t size_bytes);

  Mapping() = default;
  Mapping(Mapping&& other) noexcept : parts_(std::exchange(other.parts_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(parts_, other.parts_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::span<const uint8_t> bytes() const { return {parts_.data, parts_.size}; }
  const FileIdentity& identity() const { return parts_.identity; }
  // Only of create_private.
  std::span<uint8_t> writable_bytes() { return {parts_.data, parts_.size}; }

 private:
  struct Parts {
    uint8_t* data = nullptr;
    size_t size = 0;
    FileIdentity identity;
  };
  Parts parts_;
};

}  // namespace tiffin
