// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

Source::~Source() {
  if (parts_.descriptor >= 0) close(parts_.descriptor);
}

Status Source::set_name(std::string_view name) {
  parts_.name = arena_.copy_text(name);
  if (parts_.name != nullptr) return {};
  parts_.name = "";
  return error(Code::OutOfMemory, "no memory for a file's name");
}

Status Source::open_at(int folder, const char* path, bool allow_folder) {
  // O_NONBLOCK: a pipe must give an error, not wait for a writer.
  do {
    parts_.descriptor = ::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (parts_.descriptor < 0 && errno == EINTR);
  if (parts_.descriptor < 0) return error(Code::Io, "'%s' cannot be opened: %s", parts_.name, ErrorText(errno).bytes);
  struct stat status {};
  parts_.is_folder = allow_folder && fstat(parts_.descriptor, &status) == 0 && S_ISDIR(status.st_mode);
  return parts_.is_folder ? Status() : require_regular_file(parts_.descriptor, parts_.name, &parts_.size);
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
  snprintf(name, sizeof(name), "%s/%s", parts_.name, path);
  TIFFIN_TRY(source.set_name(name));
  if (parts_.library == nullptr) {
    TIFFIN_TRY(source.open_at(parts_.descriptor, path, false));
    return source;
  }
  for (const tiffin_system_lib_member& member : std::span(parts_.library->members, parts_.library->member_count)) {
    if (strcmp(member.path, path) != 0) continue;
    source.parts_.memory = {static_cast<const uint8_t*>(member.bytes), static_cast<size_t>(member.length)};
    source.parts_.size = member.length;
    source.parts_.is_executable = (member.flags & TIFFIN_MEMBER_EXECUTABLE) != 0;
    return source;
  }
  return error(Code::Io, "'%s' is not linked into the program", name);
}

Result<Source> Source::from_descriptor(int descriptor, uint64_t offset, uint64_t length) {
  Source source;
  char name[32];
  snprintf(name, sizeof(name), "descriptor %d", descriptor);
  TIFFIN_TRY(source.set_name(name));
  source.parts_.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (source.parts_.descriptor < 0) return error(Code::Io, "%s cannot be duplicated: %s", name, ErrorText(errno).bytes);
  uint64_t file_bytes = 0;
  TIFFIN_TRY(require_regular_file(source.parts_.descriptor, source.parts_.name, &file_bytes));
  if (offset > file_bytes || length > file_bytes - offset) {
    return error(Code::Truncated, "%s has %" PRIu64 " bytes, fewer than offset %" PRIu64 " and length %" PRIu64 " need", name, file_bytes, offset,
                 length);
  }
  source.parts_.file_offset = offset;
  source.parts_.size = length == 0 ? file_bytes - offset : length;
  return source;
}

Result<Source> Source::from_memory(std::span<const uint8_t> bytes) {
  Source source;
  TIFFIN_TRY(source.set_name("memory"));
  source.parts_.memory = bytes;
  source.parts_.size = bytes.size();
  return source;
}

Result<Source> Source::from_system_lib(const tiffin_system_lib& library) {
  if (library.version != TIFFIN_SYSTEM_LIB_VERSION) {
    return error(Code::AbiMismatch, "a linked model's table has version %u, this runtime reads version %u", library.version,
                 TIFFIN_SYSTEM_LIB_VERSION);
  }
  Source source;
  TIFFIN_TRY(source.set_name(library.name));
  source.parts_.is_folder = true;
  source.parts_.library = &library;
  return source;
}

Result<Source> Source::part(uint64_t offset, uint64_t length) const {
  if (offset > parts_.size || length > parts_.size - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, a part of %" PRIu64 " bytes is expected at offset %" PRIu64, parts_.name, parts_.size,
                 length, offset);
  }
  Source source;
  TIFFIN_TRY(source.set_name(parts_.name));
  source.parts_.size = length;
  if (!is_file()) {
    source.parts_.memory = parts_.memory.subspan(offset, length);
    return source;
  }
  source.parts_.descriptor = fcntl(parts_.descriptor, F_DUPFD_CLOEXEC, 0);
  if (source.parts_.descriptor < 0) return error(Code::Io, "'%s' cannot be opened twice: %s", parts_.name, ErrorText(errno).bytes);
  source.parts_.file_offset = parts_.file_offset + offset;
  return source;
}

Status Source::read(uint64_t offset, std::span<uint8_t> out) const {
  if (offset > parts_.size || out.size() > parts_.size - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, %zu more are expected at offset %" PRIu64, parts_.name, parts_.size, out.size(),
                 offset);
  }
  if (!is_file()) {
    if (!out.empty()) memcpy(out.data(), parts_.memory.data() + offset, out.size());
    return {};
  }
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = pread(parts_.descriptor, out.data() + done, out.size() - done, static_cast<off_t>(parts_.file_offset + offset + done));
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return error(Code::Truncated, "'%s' ends at byte %" PRIu64 " while it is read", parts_.name, offset + done);
    } else if (errno != EINTR) {
      return error(Code::Io, "'%s' cannot be read: %s", parts_.name, ErrorText(errno).bytes);
    }
  }
  return {};
}

Status Source::hash(uint64_t offset, uint64_t length, Hasher& hasher) const {
  constexpr uint64_t kPieceBytes = 1u << 17;
  if (!is_file()) {
    hasher.update(parts_.memory.subspan(offset, length));
    return {};
  }
  Arena arena;
  auto* piece = arena.allocate<uint8_t>(static_cast<size_t>(std::min(length, kPieceBytes)));
  if (piece == nullptr) return error(Code::OutOfMemory, "no memory to read '%s'", name());
  while (length > 0) {
    const uint64_t now = std::min(length, kPieceBytes);
    TIFFIN_TRY(read(offset, {piece, static_cast<size_t>(now)}));
    hasher.update({piece, static_cast<size_t>(now)});
    offset += now;
    length -= now;
  }
  return {};
}

Result<Pages> Source::map(uint64_t offset, uint64_t length) const {
  if (offset > parts_.size || length > parts_.size - offset) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, %" PRIu64 " more are expected at offset %" PRIu64, parts_.name, parts_.size, length,
                 offset);
  }
  const uint64_t start = parts_.file_offset + offset;
  const uint64_t inner = start % page_bytes();
  const uint64_t total = inner + (length == 0 ? 1 : length);
  void* base = mmap(nullptr, total, PROT_READ, MAP_SHARED, parts_.descriptor, static_cast<off_t>(start - inner));
  if (base == MAP_FAILED)
    return error(errno == ENOMEM ? Code::OutOfMemory : Code::Io, "'%s' cannot be mapped: %s", parts_.name, ErrorText(errno).bytes);
  return Pages(base, total, static_cast<uint8_t*>(base) + inner);
}

}  // namespace tiffin::runtime
