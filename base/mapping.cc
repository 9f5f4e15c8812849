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
  int descriptor = -1;
  do {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return error(Code::Io, "cannot open '%s': %s", path, strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    const int reason = errno;
    close(descriptor);
    return error(Code::Io, "cannot read '%s': %s", path, strerror(reason));
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return error(Code::Io, "cannot read '%s': it is %s, not a file", path, S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe");
  }
  Mapping mapping;
  if (status.st_size > 0) {
    void* pages = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    if (pages == MAP_FAILED) return error(reason == ENOMEM ? Code::OutOfMemory : Code::Io, "cannot map '%s': %s", path, strerror(reason));
    mapping.data_ = static_cast<uint8_t*>(pages);
    mapping.size_ = static_cast<size_t>(status.st_size);
    mapping.identity_ = {status.st_dev, status.st_ino};
  } else {
    close(descriptor);
  }
  return mapping;
}

Result<Mapping> Mapping::create_private(uint64_t size_bytes) {
  Mapping mapping;
  if (size_bytes == 0) return mapping;
  void* pages = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return error(Code::OutOfMemory, "the system gave no %llu bytes of memory", static_cast<unsigned long long>(size_bytes));
  // Large pages make filling fresh memory several times faster; where there are none, nothing is lost.
  if (size_bytes >= kLargeEnough) madvise(pages, size_bytes, MADV_HUGEPAGE);
  mapping.data_ = static_cast<uint8_t*>(pages);
  mapping.size_ = size_bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), identity_(other.identity_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(identity_, other.identity_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace tiffin
