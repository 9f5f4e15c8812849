// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace tiffin::runtime {
namespace {

// strerror_r in its POSIX form, whichever the libc declares.
struct ErrorText {
  char bytes[128] = "";
  explicit ErrorText(int number) { describe(strerror_r(number, bytes, sizeof(bytes))); }

 private:
  void describe(const char* text) {
    if (text != bytes) snprintf(bytes, sizeof(bytes), "%s", text);
  }
  void describe(int) {}
};

Status require_regular_file(int descriptor, const char* name, uint64_t* out_size) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return error(Code::Io, "'%s' cannot be examined: %s", name, ErrorText(errno).bytes);
  if (S_ISDIR(status.st_mode)) return error(Code::Io, "'%s' is a directory, not a file", name);
  if (!S_ISREG(status.st_mode)) return error(Code::Io, "'%s' is not a regular file", name);
  *out_size = static_cast<uint64_t>(status.st_size);
  return {};
}

}  // namespace

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_folder_, other.is_folder_);
  std::swap(is_executable_, other.is_executable_);
  std::swap(library_, other.library_);
  std::swap(file_offset_, other.file_offset_);
  std::swap(size_, other.size_);
  std::swap(memory_, other.memory_);
  return *this;
}

Source::~Source() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status Source::set_name(std::string_view name) {
  name_ = arena_.copy_text(name);
  if (name_ != nullptr) return {};
  name_ = "";
  return error(Code::OutOfMemory, "no memory for a file's name");
}

Status Source::open_at(int folder, const char* path, bool allow_folder) {
  // O_NONBLOCK: a pipe must give an error, not wait for a writer.
  do {
    descriptor_ = ::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) return error(Code::Io, "'%s' cannot be opened: %s", name_, ErrorText(errno).bytes);
  struct stat status {};
  is_folder_ = allow_folder && fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode);
  return is_folder_ ? Status() : require_regular_file(descriptor_, name_, &size_);
}

Result<Source> Source::open(const char* path) {
  Source source;
  TIFFIN_TRY(source.set_name(path));
  TIFFIN_TRY(source.open_at(AT_FDCWD, path, true));
  return source;
}

Result<Source> Source::open_file(const char* path) const {
  Source source;
  char name[4096];
  snprintf(name, sizeof(name), "%s/%s", name_, path);
  TIFFIN_TRY(source.set_name(name));
  if (library_ == nullptr) {
    TIFFIN_TRY(source.open_at(descriptor_, path, false));
    return source;
  }
  for (const tiffin_system_lib_member& member : std::span(library_->members, library_->member_count)) {
    if (strcmp(member.path, path) != 0) continue;
    source.memory_ = {static_cast<const uint8_t*>(member.bytes), static_cast<size_t>(member.length)};
    source.size_ = member.length;
    source.is_executable_ = (member.flags & TIFFIN_MEMBER_EXECUTABLE) != 0;
    return source;
  }
  return error(Code::Io, "'%s' is not linked into the program", name);
}

Result<Source> Source::from_descriptor(int descriptor, uint64_t offset, uint64_t length) {
  Source source;
  char name[32];
  snprintf(name, sizeof(name), "descriptor %d", descriptor);
  TIFFIN_TRY(source.set_name(name));
  source.descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (source.descriptor_ < 0) return error(Code::Io, "%s cannot be duplicated: %s", name, ErrorText(errno).bytes);
  uint64_t file_bytes = 0;
  TIFFIN_TRY(require_regular_file(source.descriptor_, source.name_, &file_bytes));
  if (offset > file_bytes || length > file_bytes - offset) {
    return error(Code::Truncated, "%s has %" PRIu64 " bytes, fewer than offset %" PRIu64 " and length %" PRIu64 " need", name, file_bytes, offset,
                 length);
  }
  source.file_offset_ = offset;
  source.size_ = length == 0 ? file_bytes - offset : length;
  return source;
}

Result<Source> Source::from_memory(std::span<const uint8_t> bytes) {
  Source source;
  TIFFIN_TRY(source.set_name("memory"));
  source.memory_ = bytes;
  source.size_ = bytes.size();
  return source;
}

Result<Source> Source::from_system_lib(const tiffin_system_lib& library) {
  if (library.version != TIFFIN_SYSTEM_LIB_VERSION) {
    return error(Code::AbiMismatch, "a linked model's table has version %u, this runtime reads version %u", library.version,
                 TIFFIN_SYSTEM_LIB_VERSION);
  }
  Source source;
  TIFFIN_TRY(source.set_name(library.name));
  source.is_folder_ = true;
  source.library_ = &library;
  return source;
}

Result<Source> Source::part(uint64_t offset, uint64_t length) const {
  if (offset > size_ || length > size_ - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, a part of %" PRIu64 " bytes is expected at offset %" PRIu64, name_, size_, length,
                 offset);
  }
  Source source;
  TIFFIN_TRY(source.set_name(name_));
  source.size_ = length;
  if (!is_file()) {
    source.memory_ = memory_.subspan(offset, length);
    return source;
  }
  source.descriptor_ = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (source.descriptor_ < 0) return error(Code::Io, "'%s' cannot be opened twice: %s", name_, ErrorText(errno).bytes);
  source.file_offset_ = file_offset_ + offset;
  return source;
}

Status Source::read(uint64_t offset, std::span<uint8_t> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, %zu more are expected at offset %" PRIu64, name_, size_, out.size(), offset);
  }
  if (!is_file()) {
    if (!out.empty()) memcpy(out.data(), memory_.data() + offset, out.size());
    return {};
  }
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(file_offset_ + offset + done));
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return error(Code::Truncated, "'%s' ends at byte %" PRIu64 " while it is read", name_, offset + done);
    } else if (errno != EINTR) {
      return error(Code::Io, "'%s' cannot be read: %s", name_, ErrorText(errno).bytes);
    }
  }
  return {};
}

Result<Pages> Source::map(uint64_t offset, uint64_t length) const {
  if (offset > size_ || length > size_ - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, %" PRIu64 " more are expected at offset %" PRIu64, name_, size_, length, offset);
  }
  const uint64_t start = file_offset_ + offset;
  const uint64_t inner = start % page_bytes();
  const uint64_t total = inner + (length == 0 ? 1 : length);
  void* base = mmap(nullptr, total, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(start - inner));
  if (base == MAP_FAILED) return error(errno == ENOMEM ? Code::OutOfMemory : Code::Io, "'%s' cannot be mapped: %s", name_, ErrorText(errno).bytes);
  return Pages(base, total, static_cast<uint8_t*>(base) + inner);
}

}  // namespace tiffin::runtime
