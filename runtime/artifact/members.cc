// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/members.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "base/artifact_layout.h"

namespace tiffin::runtime {
namespace {

constexpr uint64_t kBlock = 512;
constexpr size_t kMaxMembers = 1024;
constexpr size_t kMaxFiles = TIFFIN_MAX_SECTIONS + 1;
constexpr size_t kPaxBytes = 1024;  // of a pax header that are looked at: what matters comes first, a padding comment last

using Block = uint8_t[kBlock];

Status damaged(const Source& source, uint64_t at, const char* what) {
  return error(Code::NotAnArtifact, "'%s' is a damaged tar archive: %s at byte %" PRIu64, source.name(), what, at);
}

// A number of octal digits, ended by a space, a NUL or the field's end. False for anything else.
bool read_octal(const uint8_t* field, size_t bytes, uint64_t* out) {
  uint64_t value = 0;
  size_t i = 0;
  while (i < bytes && field[i] == ' ') ++i;
  for (; i < bytes && field[i] >= '0' && field[i] <= '7'; ++i) value = value * 8 + (field[i] - '0');
  *out = value;
  return i == bytes || field[i] == ' ' || field[i] == 0;
}

bool has_valid_checksum(const Block& block) {
  uint64_t recorded = 0, sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : block[i];
  return read_octal(block + 148, 8, &recorded) && recorded == sum;
}

bool is_zero(const Block& block) {
  return std::all_of(block, block + kBlock, [](uint8_t byte) { return byte == 0; });
}

// "prefix/name" as ustar splits it, without a leading "./".
void read_path(const Block& block, char (&out)[kMemberPathBytes]) {
  const auto* name = reinterpret_cast<const char*>(block);
  const auto* prefix = reinterpret_cast<const char*>(block + 345);
  const size_t prefix_bytes = strnlen(prefix, 155), name_bytes = strnlen(name, 100);
  size_t at = 0;
  if (prefix_bytes > 0 && prefix_bytes + 1 + name_bytes < sizeof(out)) {
    memcpy(out, prefix, prefix_bytes);
    out[prefix_bytes] = '/';
    at = prefix_bytes + 1;
  }
  memcpy(out + at, name, name_bytes);
  out[at + name_bytes] = 0;
  if (strncmp(out, "./", 2) == 0) memmove(out, out + 2, strlen(out + 2) + 1);
}

// What a pax header says of the member after it.
struct Extended {
  uint64_t bytes = UINT64_MAX;  // not said
  char path[kMemberPathBytes] = "";
};

bool read_decimal(std::string_view text, uint64_t* out) {
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  *out = value;
  return !text.empty();
}

// Records "LENGTH key=value\n". Stops at what is cut off or malformed: nothing that matters is there.
void read_records(std::string_view records, Extended& out) {
  while (!records.empty()) {
    const size_t space = records.find(' ');
    uint64_t length = 0;
    if (space == std::string_view::npos || !read_decimal({records.data(), space}, &length)) return;
    if (length <= space + 1 || length > records.size() || records[length - 1] != '\n') return;
    const std::string_view record(records.data() + space + 1, static_cast<size_t>(length) - space - 2);  // substr would take a symbol of libstdc++
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view key(record.data(), equals), value(record.data() + equals + 1, record.size() - equals - 1);
    uint64_t bytes = 0;
    if (key == "size" && read_decimal(value, &bytes)) out.bytes = bytes;
    if (key == "path" && value.size() < sizeof(out.path)) {
      memcpy(out.path, value.data(), value.size());
      out.path[value.size()] = 0;
    }
  }
}

}  // namespace

Members::Members(Members&& other) noexcept { *this = std::move(other); }

Members& Members::operator=(Members&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(entries_, other.entries_);
  std::swap(entry_count_, other.entry_count_);
  std::swap(files_, other.files_);
  std::swap(file_count_, other.file_count_);
  return *this;
}

Members::~Members() {
  for (size_t i = 0; i < file_count_; ++i) files_[i].~Source();
}

Status Members::read_archive(const Source& source) {
  entries_ = arena_.allocate<Entry>(kMaxMembers);
  if (entries_ == nullptr) return error(Code::OutOfMemory, "no memory for the members of '%s'", source.name());
  Extended extended;
  int empty_blocks = 0;
  for (uint64_t at = 0; empty_blocks < 2;) {
    Block block;
    if (source.size() - at < kBlock) {
      return error(Code::Truncated, "'%s' has %" PRIu64 " bytes and ends before its end mark", source.name(), source.size());
    }
    TIFFIN_TRY(source.read(at, block));
    empty_blocks = is_zero(block) ? empty_blocks + 1 : 0;
    if (empty_blocks > 0) {
      at += kBlock;
      continue;
    }
    uint64_t bytes = 0;
    if (!has_valid_checksum(block)) return damaged(source, at, "a member's header does not match its checksum");
    if (!read_octal(block + 124, 12, &bytes)) return damaged(source, at, "a member has no proper size");
    const uint8_t type = block[156];
    const bool is_pax = type == 'x' || type == 'g';
    if (!is_pax && extended.bytes != UINT64_MAX) bytes = extended.bytes;
    const uint64_t data = at + kBlock;
    if (bytes > source.size() - data) {
      return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, but a member of %" PRIu64 " bytes begins at %" PRIu64, source.name(), source.size(),
                   bytes, data);
    }
    at = std::min(data + (bytes + kBlock - 1) / kBlock * kBlock, source.size());
    if (is_pax) {
      char records[kPaxBytes];
      const auto known = static_cast<size_t>(std::min<uint64_t>(bytes, sizeof(records)));
      TIFFIN_TRY(source.read(data, {reinterpret_cast<uint8_t*>(records), known}));
      if (type == 'x') read_records({records, known}, extended);
      continue;
    }
    if (type == '0' || type == 0) {
      if (entry_count_ == kMaxMembers) return damaged(source, at, "more members than an artifact can have");
      char path[kMemberPathBytes];
      read_path(block, path);
      const char* kept = arena_.copy_text(extended.path[0] != 0 ? extended.path : path);
      if (kept == nullptr) return error(Code::OutOfMemory, "no memory for the members of '%s'", source.name());
      entries_[entry_count_++] = {kept, data, bytes};
    }
    extended = Extended{};
  }
  return {};
}

Result<Members> Members::read(const Source& source) {
  Members members;
  if (!source.is_folder()) TIFFIN_TRY(members.read_archive(source));
  return members;
}

Result<Members::Place> Members::open_file(const Source& folder, const char* path) {
  if (files_ == nullptr) files_ = arena_.allocate<Source>(kMaxFiles);
  if (files_ == nullptr || file_count_ == kMaxFiles) return error(Code::OutOfMemory, "no memory for the files of '%s'", folder.name());
  TIFFIN_ASSIGN_OR_RETURN(Source file, folder.open_file(path));
  const Source* opened = new (static_cast<void*>(files_ + file_count_)) Source(std::move(file));
  ++file_count_;
  return Place{opened, 0, opened->size()};
}

Result<Members::Place> Members::find(const Source& source, const char* path) {
  return source.is_folder() ? open_file(source, path) : find_packed(source, path);
}

Result<Members::Place> Members::find_packed(const Source& source, const char* path) const {
  for (size_t i = 0; i < entry_count_; ++i) {
    if (strcmp(entries_[i].path, path) == 0) return Place{nullptr, entries_[i].offset, entries_[i].bytes};
  }
  return error(Code::NotAnArtifact, "'%s' is a tar archive without the member '%s'", source.name(), path);
}

}  // namespace tiffin::runtime
