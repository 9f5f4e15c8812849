// SPDX-License-Identifier: Apache-2.0
#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tiffin {
namespace {

constexpr uint64_t kLargeEnough = 4 << 20;

}  // namespace

Result<Mapping> Mapping::open_file(const char* path) {
  struct Descriptor {
    int number = -1;
    ~Descriptor() {
      if (number >= 0) close(number);
    }
  } file;
  do {
    file.number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang
  } while (file.number < 0 && errno == EINTR);
  if (file.number < 0) return error(Code::Io, "cannot open '%s': %s", path, strerror(errno));
  struct stat status;
  if (fstat(file.number, &status) != 0) return error(Code::Io, "cannot read '%s': %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    return error(Code::Io, "cannot read '%s': it is %s, not a file", path, S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe");
  }
  Mapping mapping;
  if (status.st_size == 0) return mapping;
  void* pages = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, file.number, 0);
  if (pages == MAP_FAILED) return error(errno == ENOMEM ? Code::OutOfMemory : Code::Io, "cannot map '%s': %s", path, strerror(errno));
  mapping.parts_ = {static_cast<uint8_t*>(pages), static_cast<size_t>(status.st_size), {status.st_dev, status.st_ino}};
  return mapping;
}

Result<Mapping> Mapping::create_private(uint64_t size_bytes) {
  Mapping mapping;
  if (size_bytes == 0) return mapping;
  void* pages = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return error(Code::OutOfMemory, "the system gave no %llu bytes of memory", static_cast<unsigned long long>(size_bytes));
  // Large pages make filling fresh memory several times faster; where there are none, nothing is lost.
  if (size_bytes >= kLargeEnough) madvise(pages, size_bytes, MADV_HUGEPAGE);
  mapping.parts_.data = static_cast<uint8_t*>(pages);
  mapping.parts_.size = size_bytes;
  return mapping;
}

Mapping::~Mapping() {
  if (parts_.data != nullptr) munmap(parts_.data, parts_.size);
}

}  // namespace tiffin
