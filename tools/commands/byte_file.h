// SPDX-License-Identifier: Apache-2.0
// Sequential reading of files and pipes, and paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/array.h"
#include "base/status.h"

namespace tiffin::tools {

// Also reads pipes. The path is borrowed.
class InputFile {
 public:
  InputFile(InputFile&& other) noexcept
      : path_(other.path_), descriptor_(std::exchange(other.descriptor_, -1)), is_regular_(other.is_regular_), remaining_(other.remaining_) {}
  InputFile(const InputFile&) = delete;
  ~InputFile();

  static Result<InputFile> open(const char* path);  // Io
  const char* path() const { return path_; }
  bool is_regular() const { return is_regular_; }
  uint64_t remaining() const { return remaining_; }  // of a regular file

  // The next `bytes` bytes. InvalidInput when the file ends before, Io.
  Status read(void* out, uint64_t bytes);
  // InvalidInput when anything is left, Io.
  Status expect_end();

 private:
  InputFile(const char* path, int descriptor) : path_(path), descriptor_(descriptor) {}
  const char* path_;
  int descriptor_;
  bool is_regular_ = false;
  uint64_t remaining_ = 0;
};

// "FOLDER/NAME" in malloc memory.
Result<Array<char>> joined_path(const char* folder, const char* name);

Status out_of_memory();

// Makes the folder and those above it. Io.
Status make_folders(const char* path);

}  // namespace tiffin::tools
