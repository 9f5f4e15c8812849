// SPDX-License-Identifier: Apache-2.0
#include "base/artifact_layout.h"

#include <cstdio>
#include <cstring>

#include "abi/version.h"

namespace tiffin {
namespace {

template <class T>
std::span<const uint8_t> bytes_of(const T& object) {
  return {reinterpret_cast<const uint8_t*>(&object), sizeof(T)};
}

// printf format of the member's path; "%.*s" stands for the name. Null: any other kind.
const char* path_format(uint32_t kind) {
  switch (kind) {
    case TIFFIN_SECTION_CODE:
    case TIFFIN_SECTION_KERNEL_IR:
      return "code/%.*s.bin";
    case TIFFIN_SECTION_WEIGHTS:
      return "%.*s.tfw";
    case TIFFIN_SECTION_LIBRARY:
      return "lib/%.*s";
    case TIFFIN_SECTION_FILE:
      return "files/%.*s";
    case TIFFIN_SECTION_SOURCE:
      return "sources/%.*s";
    default:
      return "%.*s.bin";
  }
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return false;
  for (const char c : name) {
    if (c == '/' || static_cast<unsigned char>(c) < ' ') return false;
  }
  return true;
}

}  // namespace

Digest content_digest(std::span<const tiffin_section> table) {
  Hasher hasher;
  for (const tiffin_section& entry : table) {
    if (!is_content(entry.kind)) continue;
    hasher.update(bytes_of(entry.kind));
    hasher.update(bytes_of(entry.name));
    hasher.update_u64(entry.length);
    hasher.update(entry.digest);
  }
  return hasher.finish();
}

Digest header_digest(const tiffin_artifact_header& header, std::span<const tiffin_section> table) {
  tiffin_artifact_header blank = header;
  memset(blank.header_digest, 0, sizeof(blank.header_digest));
  memset(blank.file_digest, 0, sizeof(blank.file_digest));
  Hasher hasher;
  hasher.update(bytes_of(blank));
  hasher.update({reinterpret_cast<const uint8_t*>(table.data()), table.size_bytes()});
  return hasher.finish();
}

tiffin_artifact_header make_header(std::span<const tiffin_section> table, uint64_t total_length) {
  constexpr uint8_t kMagic[] = TIFFIN_MAGIC_BYTES;
  tiffin_artifact_header header{};
  memcpy(header.magic, kMagic, sizeof(header.magic));
  header.format_major = TIFFIN_FORMAT_MAJOR;
  header.format_minor = TIFFIN_FORMAT_MINOR;
  header.abi = TIFFIN_ABI_VERSION;
  header.section_count = static_cast<uint32_t>(table.size());
  header.total_length = total_length;
  memcpy(header.content_digest, content_digest(table).bytes.data(), sizeof(header.content_digest));
  memcpy(header.header_digest, header_digest(header, table).bytes.data(), sizeof(header.header_digest));
  return header;
}

bool member_path(uint32_t kind, std::string_view name, char (&out)[kMemberPathBytes]) {
  if (!is_plain_name(name)) return false;
  const int length = snprintf(out, sizeof(out), path_format(kind), static_cast<int>(name.size()), name.data());
  return length > 0 && static_cast<size_t>(length) < sizeof(out);
}

}  // namespace tiffin
