// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/byte_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tiffin::tools {
namespace {

constexpr uint64_t kLargestTransfer = 1u << 30;  // the system moves at most 2 GiB a call

Status failed(const char* what, const char* path) { return error(Code::Io, "cannot %s '%s': %s", what, path, strerror(errno)); }

size_t chunk_of(uint64_t bytes) { return static_cast<size_t>(bytes < kLargestTransfer ? bytes : kLargestTransfer); }

}  // namespace

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<InputFile> InputFile::open(const char* path) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed("open", path);
  InputFile file(path, descriptor);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return failed("read", path);
  if (S_ISDIR(facts.st_mode)) return error(Code::Io, "cannot read '%s': it is a folder, a file is expected", path);
  file.is_regular_ = S_ISREG(facts.st_mode);
  file.remaining_ = file.is_regular_ ? static_cast<uint64_t>(facts.st_size) : 0;
  return file;
}

Status InputFile::read(void* out, uint64_t bytes) {
  auto* to = static_cast<uint8_t*>(out);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t count = ::read(descriptor_, to + done, chunk_of(bytes - done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path_);
    if (count == 0) {
      return error(Code::InvalidInput, "'%s' ends too early: %llu bytes are missing", path_, static_cast<unsigned long long>(bytes - done));
    }
    done += static_cast<uint64_t>(count);
    if (is_regular_) remaining_ -= static_cast<uint64_t>(count) < remaining_ ? static_cast<uint64_t>(count) : remaining_;
  }
  return {};
}

Status InputFile::expect_end() {
  if (is_regular_) {
    if (remaining_ == 0) return {};
    return error(Code::InvalidInput, "%llu bytes follow its end, 0 are expected", static_cast<unsigned long long>(remaining_));
  }
  for (uint8_t byte = 0;;) {
    const ssize_t count = ::read(descriptor_, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path_);
    return count == 0 ? Status() : error(Code::InvalidInput, "bytes follow its end, 0 are expected");
  }
}

Status out_of_memory() { return error(Code::OutOfMemory, "no memory is left"); }

Result<Array<char>> joined_path(const char* folder, const char* name) {
  Array<char> path;
  const size_t length = strlen(folder) + strlen(name) + 2;
  if (!path.resize(length)) return out_of_memory();
  snprintf(path.data(), length, "%s/%s", folder, name);
  return path;
}

Status make_folders(const char* path) {
  Array<char> part;
  const size_t length = strlen(path);
  if (!part.resize(length + 1)) return out_of_memory();
  memcpy(part.data(), path, length + 1);
  for (size_t i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    part[i] = 0;
    if (mkdir(part.data(), 0777) != 0 && errno != EEXIST) return failed("make folder", part.data());
    part[i] = path[i];
  }
  struct stat facts {};
  if (stat(path, &facts) != 0) return failed("make folder", path);
  if (!S_ISDIR(facts.st_mode)) return error(Code::Io, "cannot write into '%s': it is no folder", path);
  return {};
}

}  // namespace tiffin::tools
