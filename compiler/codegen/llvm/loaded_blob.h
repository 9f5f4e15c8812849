// SPDX-License-Identifier: Apache-2.0
// For tests: a CodeBlob in this process's memory, never writable and executable at once.
#pragma once

#include <sys/mman.h>

#include <cstring>

#include "abi/kernel.h"
#include "compiler/codegen/target.h"

namespace tiffin::codegen {

class LoadedBlob {
 public:
  explicit LoadedBlob(const CodeBlob& blob) : blob_(blob) {
    memory_ = mmap(nullptr, blob.bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return;
    std::memcpy(memory_, blob.bytes.data(), blob.bytes.size());
    if (mprotect(memory_, blob.bytes.size(), PROT_READ | PROT_EXEC) != 0) is_ready_ = false;
  }
  LoadedBlob(const LoadedBlob&) = delete;
  ~LoadedBlob() {
    if (memory_ != MAP_FAILED) munmap(memory_, blob_.bytes.size());
  }

  bool is_ready() const { return is_ready_ && memory_ != MAP_FAILED; }

  const void* at(uint64_t offset) const { return static_cast<const char*>(memory_) + offset; }

  tiffin_kernel_function function(size_t index) const {
    const void* address = at(blob_.functions[index].offset);
    tiffin_kernel_function result;
    std::memcpy(&result, &address, sizeof result);
    return result;
  }

 private:
  const CodeBlob& blob_;
  void* memory_ = MAP_FAILED;
  bool is_ready_ = true;
};

}  // namespace tiffin::codegen
