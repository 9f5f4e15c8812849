// SPDX-License-Identifier: Apache-2.0
#include "fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/target.h"

namespace tiffin::fuzz {

const char* path_of_memory(std::span<const uint8_t> bytes) {
  static const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  static char path[48];
  const auto size = static_cast<off_t>(bytes.size());
  require(ftruncate(descriptor, size) == 0 && pwrite(descriptor, bytes.data(), bytes.size(), 0) == size, "a file in memory can be written");
  snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
  return path;
}

}  // namespace tiffin::fuzz
