// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace tiffin {
namespace {

constexpr size_t kPendingBytes = 1 << 16;

// From here on a file costs more in the page cache than it gains there.
constexpr uint64_t kLargeBytes = uint64_t{64} << 20;

Status io_error(const char* what, const char* path, int reason) { return error(Code::Io, "cannot %s '%s': %s", what, path, strerror(reason)); }

constexpr std::string_view kPrefix = ".tiffin-";

// Opens a new file with its final mode from the start, as the mask of the process cannot be read without setting it. `name` has 16 characters of
// room at `digits_at`.
int create_temporary(char* name, size_t digits_at, mode_t mode) {
  const auto seed = static_cast<uint64_t>(getpid());
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    snprintf(name + digits_at, 16, "%08x.%03x", static_cast<unsigned>(seed), attempt);
    const int descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 || (errno != EEXIST && errno != EINTR)) return descriptor;
  }
  return -1;
}

// Makes a rename to `path` durable. File systems that cannot do so are no reason to fail.
void sync_folder(const char* path) {
  char folder[PATH_MAX];
  const char* slash = strrchr(path, '/');
  const size_t length = slash == nullptr ? 0 : static_cast<size_t>(slash - path);
  if (length >= sizeof(folder)) return;
  memcpy(folder, path, length);
  folder[length] = 0;
  const int descriptor = open(slash == nullptr ? "." : (length == 0 ? "/" : folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const char* path, bool is_executable) {
  char resolved[PATH_MAX];
  struct stat status;
  const bool exists = stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return error(Code::Io, "cannot write '%s': it is a folder", path);
  if (exists && !S_ISREG(status.st_mode)) return error(Code::Io, "cannot write '%s': it is not a file", path);
  if (exists && access(path, W_OK) != 0) return io_error("write", path, errno);
  // Through a link the file that it names is replaced, not the link.
  const char* target = exists && realpath(path, resolved) != nullptr ? resolved : path;

  AtomicFile file;
  const char* slash = strrchr(target, '/');
  const size_t folder_length = slash == nullptr ? 0 : static_cast<size_t>(slash - target) + 1;
  if (!file.path_.append(std::span<const char>(target, strlen(target) + 1)) ||
      !file.temporary_.append(std::span<const char>(target, folder_length)) ||
      !file.temporary_.append(std::span<const char>(kPrefix.data(), kPrefix.size())) ||
      !file.temporary_.resize(folder_length + kPrefix.size() + 16) || !file.pending_.reserve(kPendingBytes)) {
    return error(Code::OutOfMemory, "no memory to write '%s'", path);
  }
  file.descriptor_ = create_temporary(file.temporary_.data(), folder_length + kPrefix.size(), is_executable ? 0777 : 0666);
  if (file.descriptor_ < 0) return io_error("write", path, errno);
  if (exists) (void)!fchmod(file.descriptor_, (status.st_mode & 0777) | (is_executable ? (status.st_mode & 0444) >> 2 : 0));
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  path_ = std::move(other.path_);
  temporary_ = std::move(other.temporary_);
  pending_ = std::move(other.pending_);
  std::swap(blocks_, other.blocks_);
  std::swap(has_no_blocks_, other.has_no_blocks_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(written_bytes_, other.written_bytes_);
  std::swap(announced_bytes_, other.announced_bytes_);
  return *this;
}

AtomicFile::~AtomicFile() {
  BlockWriter::stop(blocks_);
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.data());
}

Status AtomicFile::checked(const char* what, int failure) const { return failure == 0 ? Status() : io_error(what, path_.data(), failure); }

Status AtomicFile::flush_pending() {
  TIFFIN_TRY(checked("write", write_fully(descriptor_, pending_.span(), written_bytes_ - pending_.size())));
  pending_.clear();
  return {};
}

Status AtomicFile::flush() {
  if (blocks_ == nullptr) return flush_pending();
  const int failure = blocks_->finish();
  BlockWriter::stop(std::exchange(blocks_, nullptr));
  return checked("write", failure);
}

bool AtomicFile::is_large(uint64_t more) const { return announced_bytes_ >= kLargeBytes || written_bytes_ + more >= kLargeBytes; }

// Blocks begin on a multiple of their alignment: the bytes up to there are written before, and taken from `bytes`.
Status AtomicFile::begin_blocks(std::span<const uint8_t>& bytes) {
  TIFFIN_TRY(flush_pending());
  const size_t lacking = (kDirectAlignment - written_bytes_ % kDirectAlignment) % kDirectAlignment;
  if (bytes.size() < lacking) return {};
  TIFFIN_TRY(checked("write", write_fully(descriptor_, bytes.first(lacking), written_bytes_)));
  written_bytes_ += lacking;
  bytes = bytes.subspan(lacking);
  blocks_ = BlockWriter::start(descriptor_, written_bytes_);
  has_no_blocks_ = blocks_ == nullptr;
  return {};
}

Status AtomicFile::write(std::span<const uint8_t> bytes) {
  if (descriptor_ < 0) return error(Code::Internal, "write to a file that was committed");
  if (blocks_ == nullptr && !has_no_blocks_ && is_large(bytes.size())) TIFFIN_TRY(begin_blocks(bytes));
  if (blocks_ != nullptr) {
    TIFFIN_TRY(checked("write", blocks_->write(bytes)));
    written_bytes_ += bytes.size();
    return {};
  }
  if (pending_.size() + bytes.size() > kPendingBytes) TIFFIN_TRY(flush_pending());
  if (bytes.size() >= kPendingBytes) {
    TIFFIN_TRY(checked("write", write_fully(descriptor_, bytes, written_bytes_)));
  } else if (!pending_.append(bytes)) {
    return error(Code::OutOfMemory, "no memory to write '%s'", path_.data());
  }
  written_bytes_ += bytes.size();
  return {};
}

Status AtomicFile::write_at(uint64_t offset, std::span<const uint8_t> bytes) {
  TIFFIN_TRY(flush());
  if (offset > written_bytes_ || bytes.size() > written_bytes_ - offset) return error(Code::Internal, "write beyond what '%s' holds", path_.data());
  return checked("write", write_fully(descriptor_, bytes, offset));
}

Status AtomicFile::read_at(uint64_t offset, std::span<uint8_t> out) {
  TIFFIN_TRY(flush());
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_error("read back", path_.data(), got < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return {};
}

Status AtomicFile::make_durable() {
  TIFFIN_TRY(flush());
  return fsync(descriptor_) == 0 || errno == EINVAL ? Status() : io_error("write", path_.data(), errno);
}

Status AtomicFile::replace() {
  if (rename(temporary_.data(), path_.data()) != 0) return io_error("write", path_.data(), errno);
  const int descriptor = std::exchange(descriptor_, -1);
  return close(descriptor) == 0 || errno == EINTR ? Status() : io_error("write", path_.data(), errno);
}

Status AtomicFile::commit() {
  TIFFIN_TRY(make_durable());
  TIFFIN_TRY(replace());
  sync_folder(path_.data());
  return {};
}

Status AtomicFile::commit(AtomicFile& first, AtomicFile& second) {
  TIFFIN_TRY(first.make_durable());
  TIFFIN_TRY(second.make_durable());
  TIFFIN_TRY(first.replace());
  Status replaced = second.replace();
  sync_folder(first.path_.data());
  sync_folder(second.path_.data());
  return std::move(replaced).with_context("'%s' is replaced already", first.path_.data());
}

ByteSink AtomicFile::sink() {
  return {this, [](void* context, std::span<const uint8_t> bytes) { return static_cast<AtomicFile*>(context)->write(bytes); }};
}

bool is_temporary_of_process(std::string_view name, int process_id) {
  char wanted[40];
  const int length = snprintf(wanted, sizeof(wanted), "%s%08x.", kPrefix.data(), static_cast<unsigned>(process_id));
  return name.starts_with(std::string_view(wanted, static_cast<size_t>(length)));
}

}  // namespace tiffin
