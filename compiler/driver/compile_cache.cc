// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/atomic_file.h"

namespace tiffin::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[16] = "tiffin cache 1\n";
constexpr const char* kEntrySuffix = ".entry";
constexpr size_t kMaxEntryBytes = 1 << 16;
constexpr size_t kPieceBytes = 1 << 18;  // stays in a core's own cache

// The file of an entry, followed by its targets, each with a NUL.
struct EntryHeader {
  char magic[16];
  uint8_t key[32];
  uint64_t library_bytes;
  uint8_t library_digest[32];
  uint64_t params_bytes;
  uint8_t params_digest[32];
  uint64_t code_bytes, weights_bytes, arena_bytes;
  uint8_t digest[32];  // of the whole file, this field read as zeros
};

class OpenFile {
 public:
  explicit OpenFile(const std::string& path, int mode = O_RDONLY) : descriptor_(::open(path.c_str(), mode | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  // Bytes of a regular file; -1 for anything else.
  int64_t size() const {
    struct stat status {};
    return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : -1;
  }
  // At most out.size() bytes; 0 at the end and when they cannot be read.
  size_t read(uint64_t offset, std::span<uint8_t> out) const {
    ssize_t count = 0;
    do {
      count = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    return count < 0 ? 0 : static_cast<size_t>(count);
  }
  // Of what can be read.
  Digest hash() const {
    std::vector<uint8_t> piece(kPieceBytes);
    Hasher hasher;
    uint64_t at = 0;
    while (const size_t count = read(at, piece)) {
      hasher.update({piece.data(), count});
      at += count;
    }
    return hasher.finish();
  }

 private:
  int descriptor_;
};

struct StoredFile {
  uint64_t bytes = 0;
  Digest digest;
  bool operator==(const StoredFile&) const = default;
};

// A copy on its way to its place.
struct Copy {
  AtomicFile file;
  StoredFile stored;
};

// From file to file within the kernel, which file systems that share extents do without copying. False where it cannot be done so, and nothing is
// written; else `out_bytes` were.
Result<bool> copy_in_kernel(const OpenFile& source, const AtomicFile& file, const std::string& path, uint64_t* out_bytes) {
  const OpenFile target(file.temporary_path(), O_WRONLY);
  off_t from = 0, to = 0;
  ssize_t count = 1;
  while (count != 0) {
    count = copy_file_range(source.descriptor(), &from, target.descriptor(), &to, size_t{1} << 30, 0);
    if (count >= 0 || errno == EINTR) continue;
    if (to == 0) return false;
    return error(Code::Io, "cannot write '%s': %s", path.c_str(), strerror(errno));
  }
  *out_bytes = static_cast<uint64_t>(to);
  return true;
}

Result<uint64_t> append(const OpenFile& source, AtomicFile& file, const std::string& path) {
  uint64_t bytes = 0;
  TIFFIN_ASSIGN_OR_RETURN(const bool is_copied, copy_in_kernel(source, file, path, &bytes));
  if (is_copied) return bytes;
  std::vector<uint8_t> piece(kPieceBytes);
  while (const size_t count = source.read(file.written_bytes(), piece)) TIFFIN_TRY(file.write({piece.data(), count}));
  return file.written_bytes();
}

// Hashes and copies at the same time. Nothing when the source cannot be read.
Result<std::optional<Copy>> copy_file(const std::string& from, const std::string& to, bool is_executable) {
  const OpenFile source(from);
  if (source.size() < 0) return std::optional<Copy>();
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(to.c_str(), is_executable));
  StoredFile stored;
  std::thread hashing([&] { stored.digest = source.hash(); });
  Result<uint64_t> copied = append(source, file, to);
  hashing.join();
  if (!copied.has_value()) return copied.take_error();
  stored.bytes = *copied;
  return std::optional<Copy>(Copy{std::move(file), stored});
}

Status cannot_read_back(const std::string& path) { return error(Code::Io, "cannot read back '%s'", path.c_str()); }

Status describe(const std::string& path, StoredFile* out) {
  const OpenFile file(path);
  if (file.size() < 0) return cannot_read_back(path);
  *out = {static_cast<uint64_t>(file.size()), file.hash()};
  return {};
}

bool has_content(const std::string& path, const StoredFile& expected) {
  const OpenFile file(path);
  return file.size() == static_cast<int64_t>(expected.bytes) && file.hash() == expected.digest;
}

// The outputs on their way out of the cache: one file, or two that are replaced together.
class OutputCopies {
 public:
  // False when one of the cache's files cannot be read. Io for the outputs.
  Result<bool> make(const OutputPaths& from, const OutputPaths& to) {
    TIFFIN_ASSIGN_OR_RETURN(library_, copy_file(from.library, to.library, true));
    if (to.params.empty()) return library_.has_value();
    TIFFIN_ASSIGN_OR_RETURN(params_, copy_file(from.params, to.params, false));
    return library_.has_value() && params_.has_value();
  }
  StoredFile library() const { return library_->stored; }
  StoredFile params() const { return params_.has_value() ? params_->stored : StoredFile(); }
  Status publish() { return params_.has_value() ? AtomicFile::commit(params_->file, library_->file) : library_->file.commit(); }

 private:
  std::optional<Copy> library_, params_;
};

Digest entry_digest(std::span<const uint8_t> bytes) {
  constexpr uint8_t kZeros[sizeof(EntryHeader::digest)] = {};
  constexpr size_t kField = offsetof(EntryHeader, digest);
  Hasher hasher;
  hasher.update(bytes.first(kField));
  hasher.update(kZeros);
  hasher.update(bytes.subspan(kField + sizeof(kZeros)));
  return hasher.finish();
}

std::string suffix_of(const std::string& path) { return fs::path(path).extension().string(); }

std::string library_suffix(const OutputPaths& outputs) { return outputs.library.ends_with(".tar") ? ".tar" : ".so"; }

Status io_error(const char* what, const std::string& path, const std::error_code& reason) {
  return error(Code::Io, "cannot %s '%s': %s", what, path.c_str(), reason.message().c_str());
}

Status make_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  return failed ? io_error("make the folder", folder, failed) : Status();
}

}  // namespace

struct CompileCache::Entry {
  StoredFile library, params;
  CompileFacts facts;
};

CompileFacts facts_of(const CompiledModule& module) { return {module.targets(), module.code_bytes(), module.weights_bytes(), module.arena_bytes()}; }

Result<CompileCache> CompileCache::open(std::string folder, uint64_t limit_bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed && !fs::is_directory(folder, failed)) failed = std::make_error_code(std::errc::not_a_directory);
  if (failed) return io_error("make the cache", folder, failed);
  return CompileCache(std::move(folder), limit_bytes);
}

std::string CompileCache::folder_of(const Digest& key) const { return folder_ + "/" + std::string(to_text(key).text, 2); }

std::string CompileCache::path_of(const Digest& key, const std::string& suffix) const {
  return folder_of(key) + "/" + (to_text(key).text + 2) + suffix;
}

std::optional<CompileCache::Entry> CompileCache::read_entry(const Digest& key) const {
  const OpenFile file(path_of(key, kEntrySuffix));
  const int64_t size = file.size();
  if (size < static_cast<int64_t>(sizeof(EntryHeader)) || size > static_cast<int64_t>(kMaxEntryBytes)) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (file.read(0, bytes) != bytes.size()) return std::nullopt;
  EntryHeader header;
  memcpy(&header, bytes.data(), sizeof(header));
  const Digest digest = entry_digest(bytes);
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || memcmp(header.key, key.bytes.data(), sizeof(header.key)) != 0 ||
      memcmp(header.digest, digest.bytes.data(), sizeof(header.digest)) != 0) {
    return std::nullopt;
  }
  Entry entry;
  entry.library.bytes = header.library_bytes;
  entry.params.bytes = header.params_bytes;
  memcpy(entry.library.digest.bytes.data(), header.library_digest, sizeof(header.library_digest));
  memcpy(entry.params.digest.bytes.data(), header.params_digest, sizeof(header.params_digest));
  entry.facts = {{}, header.code_bytes, header.weights_bytes, header.arena_bytes};
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  for (size_t at = sizeof(header); at < bytes.size(); at += entry.facts.targets.back().size() + 1) {
    entry.facts.targets.emplace_back(text + at, strnlen(text + at, bytes.size() - at));
  }
  return entry;
}

Status CompileCache::write_entry(const Digest& key, const Entry& entry) const {
  const uint64_t total = entry.library.bytes + entry.params.bytes;
  if (total > limit_bytes_) {
    return error(Code::Io, "an entry of %" PRIu64 " bytes is larger than the cache may be, %" PRIu64 " bytes", total, limit_bytes_);
  }
  EntryHeader header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  memcpy(header.key, key.bytes.data(), sizeof(header.key));
  header.library_bytes = entry.library.bytes;
  header.params_bytes = entry.params.bytes;
  memcpy(header.library_digest, entry.library.digest.bytes.data(), sizeof(header.library_digest));
  memcpy(header.params_digest, entry.params.digest.bytes.data(), sizeof(header.params_digest));
  header.code_bytes = entry.facts.code_bytes;
  header.weights_bytes = entry.facts.weights_bytes;
  header.arena_bytes = entry.facts.arena_bytes;
  const auto* first = reinterpret_cast<const uint8_t*>(&header);
  std::vector<uint8_t> bytes(first, first + sizeof(header));
  for (const std::string& target : entry.facts.targets) bytes.insert(bytes.end(), target.c_str(), target.c_str() + target.size() + 1);
  const Digest digest = entry_digest(bytes);
  memcpy(bytes.data() + offsetof(EntryHeader, digest), digest.bytes.data(), sizeof(header.digest));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path_of(key, kEntrySuffix).c_str()));
  TIFFIN_TRY(file.write(bytes));
  return file.commit();
}

// The entry first: without it the files are nobody's.
void CompileCache::remove_entry(const Digest& key, const OutputPaths& outputs) const {
  std::error_code ignored;
  fs::remove(path_of(key, kEntrySuffix), ignored);
  fs::remove(path_of(key, library_suffix(outputs)), ignored);
  if (!outputs.params.empty()) fs::remove(path_of(key, suffix_of(outputs.params)), ignored);
}

Result<std::optional<CompileFacts>> CompileCache::fetch(const Digest& key, const OutputPaths& outputs) const {
  const std::optional<Entry> entry = read_entry(key);
  if (!entry.has_value()) return std::optional<CompileFacts>();
  OutputCopies copies;
  TIFFIN_ASSIGN_OR_RETURN(const bool is_read, copies.make(paths_of(key, outputs), outputs));
  if (!is_read || copies.library() != entry->library || (!outputs.params.empty() && copies.params() != entry->params)) {
    remove_entry(key, outputs);
    return std::optional<CompileFacts>();
  }
  TIFFIN_TRY(copies.publish());
  mark_as_used(key);
  return std::optional<CompileFacts>(entry->facts);
}

OutputPaths CompileCache::paths_of(const Digest& key, const OutputPaths& outputs) const {
  return {path_of(key, library_suffix(outputs)), outputs.params.empty() ? std::string() : path_of(key, suffix_of(outputs.params))};
}

void CompileCache::mark_as_used(const Digest& key) const { utimensat(AT_FDCWD, path_of(key, kEntrySuffix).c_str(), nullptr, 0); }

std::optional<OutputPaths> CompileCache::find(const Digest& key, const OutputPaths& outputs) const {
  const std::optional<Entry> entry = read_entry(key);
  if (!entry.has_value()) return std::nullopt;
  OutputPaths paths = paths_of(key, outputs);
  if (!has_content(paths.library, entry->library) || (!paths.params.empty() && !has_content(paths.params, entry->params))) {
    remove_entry(key, outputs);
    return std::nullopt;
  }
  mark_as_used(key);
  return paths;
}

Status CompileCache::keep(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const {
  Status kept = make_entry(key, module, outputs);
  if (kept.is_ok()) {
    shrink_cache(folder_, limit_bytes_);
  } else {
    remove_entry(key, outputs);
  }
  return kept;
}

Status CompileCache::make_entry(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const {
  TIFFIN_TRY(make_folder(folder_of(key)));
  const OutputPaths paths = paths_of(key, outputs);
  TIFFIN_TRY(module.export_files(paths.library, paths.params));
  Entry entry;
  entry.facts = facts_of(module);
  TIFFIN_TRY(describe(paths.library, &entry.library));
  if (!paths.params.empty()) TIFFIN_TRY(describe(paths.params, &entry.params));
  return write_entry(key, entry);
}

// Io of the cache, or of the outputs.
Status CompileCache::fill(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const {
  TIFFIN_TRY(make_folder(folder_of(key)));
  const OutputPaths paths = paths_of(key, outputs);
  TIFFIN_TRY(module.export_files(paths.library, paths.params));
  OutputCopies copies;
  TIFFIN_ASSIGN_OR_RETURN(const bool is_read, copies.make(paths, outputs));
  if (!is_read) return cannot_read_back(paths.library);
  Entry entry;
  entry.facts = facts_of(module);
  entry.library = copies.library();
  entry.params = copies.params();
  TIFFIN_TRY(write_entry(key, entry));
  return copies.publish();
}

Status CompileCache::store(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const {
  Status filled = fill(key, module, outputs);
  if (filled.is_ok()) {
    shrink_cache(folder_, limit_bytes_);
  } else {
    remove_entry(key, outputs);
  }
  return filled;
}

}  // namespace tiffin::driver
