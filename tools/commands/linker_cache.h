// SPDX-License-Identifier: Apache-2.0
// The dynamic linker's cache, /etc/ld.so.cache in the format of glibc 2.2 and later: paths of libraries by name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/array.h"

namespace tiffin::tools {

class LinkerCache {
 public:
  // A file that is absent or of another format gives an empty cache.
  void read(const char* path);
  // The next path of a library from entry `*at` on, which advances; null when there is no more.
  const char* find(const char* name, size_t* at) const;

 private:
  const char* text(uint32_t offset) const;
  Array<char> bytes_;
  size_t count_ = 0;
};

}  // namespace tiffin::tools
