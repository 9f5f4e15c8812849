// SPDX-License-Identifier: Apache-2.0
// Where the bytes of an artifact or a parameter file come from: a file by path, a descriptor from an offset on, memory, or a folder of files, which may
// itself be a table in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/system_lib.h"
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

  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  ~Source();

  // For messages: the path, "descriptor 5" or "memory".
  const char* name() const { return name_; }
  uint64_t size() const { return size_; }
  bool is_file() const { return descriptor_ >= 0 && !is_folder_; }
  bool is_folder() const { return is_folder_; }
  std::span<const uint8_t> memory() const { return memory_; }
  // True when the memory may be executed as it is.
  bool is_executable() const { return is_executable_; }
  // Position in the file of this source's first byte, and the file; only of a file.
  uint64_t file_offset() const { return file_offset_; }
  int descriptor() const { return descriptor_; }

  // [offset, offset + length) of the same file or memory, under the same name. Truncated, Io.
  Result<Source> part(uint64_t offset, uint64_t length) const;
  // The file at a path relative to this folder; Io.
  Result<Source> open_file(const char* path) const;

  // Reads exactly `out.size()` bytes; Truncated beyond the end, Io.
  Status read(uint64_t offset, std::span<uint8_t> out) const;

  // A read-only shared window on [offset, offset + length) of a file at any alignment; Io when the file system cannot map, OutOfMemory, Truncated.
  Result<Pages> map(uint64_t offset, uint64_t length) const;

 private:
  Source() = default;
  Status set_name(std::string_view name);
  Status open_at(int folder, const char* path, bool allow_folder);

  Arena arena_;
  const char* name_ = "";
  int descriptor_ = -1;
  bool is_folder_ = false;
  bool is_executable_ = false;
  const tiffin_system_lib* library_ = nullptr;  // the folder's files
  uint64_t file_offset_ = 0;
  uint64_t size_ = 0;
  std::span<const uint8_t> memory_;
};

}  // namespace tiffin::runtime
