// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tiffin::import {
namespace {

Result<MappedFile> map_descriptor(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return error(Code::Io, "cannot examine '%s': %s", path.c_str(), strerror(errno));
  if (S_ISDIR(status.st_mode)) return error(Code::Io, "'%s' is a directory, a file is expected", path.c_str());
  if (!S_ISREG(status.st_mode)) return error(Code::Io, "'%s' is not a regular file", path.c_str());
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile{};
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return error(Code::Io, "cannot map '%s': %s", path.c_str(), strerror(errno));
  std::shared_ptr<const void> owner(address, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
  return MappedFile{{static_cast<const uint8_t*>(address), size}, std::move(owner)};
}

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return error(Code::Io, "cannot open '%s': %s", path.c_str(), strerror(errno));
  Result<MappedFile> mapped = map_descriptor(descriptor, path);
  close(descriptor);
  return mapped;
}

}  // namespace tiffin::import
