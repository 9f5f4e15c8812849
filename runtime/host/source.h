// SPDX-License-Identifier: Apache-2.0
// Where the bytes of an artifact or a parameter file come from: a file by path, a descriptor from an offset on, memory, or a folder of files, which
// may itself be a table in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/system_lib.h"
#include "base/digest.h"
#include "base/status.h"
#include "runtime/host/arena.h"
#include "runtime/host/pages.h"

namespace tiffin::runtime {

class Source {
 public:
  // Opens the file read-only, or the folder, which has no bytes of its own. Io with the path for what cannot be opened or is neither.
  static Result<Source> open(const char* path);
  // The bytes of an open file from `offset` on; `length` 0 means to its end. The descriptor is duplicated, so the caller may close it. Io.
  static Result<Source> from_descriptor(int descriptor, uint64_t offset, uint64_t length);
  // Borrowed: the bytes outlive the source and all that is made from it.
  static Result<Source> from_memory(std::span<const uint8_t> bytes);

  // A folder whose files are in memory; borrowed as well. AbiMismatch for a table of another version.
  static Result<Source> from_system_lib(const tiffin_system_lib& library);

  // Empty, until one is moved to it.
  Source() = default;
  Source(Source&& other) noexcept : arena_(std::move(other.arena_)), parts_(std::exchange(other.parts_, {})) {}
  Source& operator=(Source&& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(parts_, other.parts_);
    return *this;
  }
  ~Source();

  // For messages: the path, "descriptor 5" or "memory".
  const char* name() const { return parts_.name; }
  uint64_t size() const { return parts_.size; }
  bool is_file() const { return parts_.descriptor >= 0 && !parts_.is_folder; }
  bool is_folder() const { return parts_.is_folder; }
  std::span<const uint8_t> memory() const { return parts_.memory; }
  // True when the memory may be executed as it is.
  bool is_executable() const { return parts_.is_executable; }
  // Position in the file of this source's first byte, and the file; only of a file.
  uint64_t file_offset() const { return parts_.file_offset; }
  int descriptor() const { return parts_.descriptor; }

  // [offset, offset + length) of the same file or memory, under the same name. Truncated, Io.
  Result<Source> part(uint64_t offset, uint64_t length) const;
  // The file at a path relative to this folder; Io.
  Result<Source> open_file(const char* path) const;

  // Reads exactly `out.size()` bytes; Truncated beyond the end, Io.
  Status read(uint64_t offset, std::span<uint8_t> out) const;

  // Feeds [offset, offset + length) to `hasher` in pieces. Truncated, Io, OutOfMemory.
  Status hash(uint64_t offset, uint64_t length, Hasher& hasher) const;

  // A read-only shared window on [offset, offset + length) of a file at any alignment; Io when the file system cannot map, OutOfMemory, Truncated.
  Result<Pages> map(uint64_t offset, uint64_t length) const;

 private:
  Status set_name(std::string_view name);
  Status open_at(int folder, const char* path, bool allow_folder);

  struct Parts {
    const char* name = "";
    int descriptor = -1;
    bool is_folder = false;
    bool is_executable = false;
    const tiffin_system_lib* library = nullptr;  // the folder's files
    uint64_t file_offset = 0;
    uint64_t size = 0;
    std::span<const uint8_t> memory;
  };

  Arena arena_;
  Parts parts_;
};

}  // namespace tiffin::runtime
