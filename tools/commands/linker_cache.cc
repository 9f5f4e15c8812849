// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/linker_cache.h"

#include <cstring>

#include "runtime/host/source.h"

namespace tiffin::tools {
namespace {

constexpr char kMagic[] = "glibc-ld.so.cache1.1";
constexpr size_t kHeaderBytes = 48, kCountOffset = 20, kEntryBytes = 24;
constexpr uint64_t kMaxBytes = 64 << 20;

}  // namespace

void LinkerCache::read(const char* path) {
  const auto source = runtime::Source::open(path);
  if (!source.has_value() || source->is_folder() || source->size() < kHeaderBytes || source->size() > kMaxBytes) return;
  const auto size = static_cast<size_t>(source->size());
  if (!bytes_.resize(size + 1)) return;  // a NUL behind the last text
  if (!source->read(0, {reinterpret_cast<uint8_t*>(bytes_.data()), size}).is_ok() || memcmp(bytes_.data(), kMagic, sizeof kMagic - 1) != 0) return;
  uint32_t count = 0;
  memcpy(&count, bytes_.data() + kCountOffset, sizeof count);
  if (count <= (size - kHeaderBytes) / kEntryBytes) count_ = count;
}

const char* LinkerCache::text(uint32_t offset) const { return offset < bytes_.size() ? bytes_.data() + offset : ""; }

const char* LinkerCache::find(const char* name, size_t* at) const {
  while (*at < count_) {
    uint32_t entry[3];  // flags, offset of the name, offset of the path
    memcpy(entry, bytes_.data() + kHeaderBytes + (*at)++ * kEntryBytes, sizeof entry);
    if (strcmp(text(entry[1]), name) == 0) return text(entry[2]);
  }
  return nullptr;
}

}  // namespace tiffin::tools
