// SPDX-License-Identifier: Apache-2.0
// A stream into memory, for texts that become a file at once.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"

namespace tiffin {

struct MemoryStream {
  char* bytes = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&bytes, &size);  // null when memory ran out

  MemoryStream() = default;
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;
  ~MemoryStream() {
    if (stream != nullptr) fclose(stream);
    free(bytes);
  }

  // Precondition: what was written is flushed. Io.
  Status write_file(const char* path) const {
    TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    TIFFIN_TRY(file.write({reinterpret_cast<const uint8_t*>(bytes), size}));
    return file.commit();
  }
};

}  // namespace tiffin
