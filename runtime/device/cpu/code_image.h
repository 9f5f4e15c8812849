// SPDX-License-Identifier: Apache-2.0
// The code of one variant in executable memory: constants, then instructions, at the distances the compiler laid out. Used where it lies when it is
// linked into the program, mapped from the file where possible, else copied; no page is ever writable and executable at once.
#pragma once

#include <cstdint>

#include "abi/kernel.h"
#include "base/digest.h"
#include "base/status.h"
#include "runtime/host/source.h"

namespace tiffin::runtime {

// The two parts of a code section may lie apart in a file whose segments were moved; in memory they follow each other.
struct CodeLayout {
  uint64_t constants_offset = 0;  // in the source
  uint64_t constants_bytes = 0;
  uint64_t instructions_offset = 0;
  uint64_t instructions_bytes = 0;
  uint64_t alignment = 0;  // of the first byte in memory, a power of two
};

class CodeImage {
 public:
  // `allow_mapping` false copies even where the file could be mapped. With an `expected` digest the code is copied too, and the copy is hashed before
  // it becomes executable: DigestMismatch. OutOfMemory, Truncated; Io when the system gives no executable memory.
  static Result<CodeImage> load(const Source& source, const CodeLayout& layout, bool allow_mapping, const Digest* expected = nullptr);

  // True when the bytes stand in private memory instead of the file's pages.
  bool is_copied() const { return is_copied_; }
  // Why they are copied, in a few words; "" when they are not.
  const char* copy_reason() const { return copy_reason_; }

  // The function at an offset that was checked against the section.
  tiffin_kernel_function function_at(uint64_t code_offset) const {
    return reinterpret_cast<tiffin_kernel_function>(reinterpret_cast<uintptr_t>(base_) + code_offset);
  }

 private:
  explicit CodeImage(Pages pages) : pages_(std::move(pages)) {}
  explicit CodeImage(const uint8_t* base) : base_(base) {}
  bool map_parts(const Source& source, const CodeLayout& layout);
  Status copy_parts(const Source& source, const CodeLayout& layout, const Digest* expected);

  Pages pages_;
  const uint8_t* base_ = pages_.data();
  bool is_copied_ = false;
  const char* copy_reason_ = "";
};

}  // namespace tiffin::runtime
