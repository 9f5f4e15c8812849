// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/code_image.h"

#include <sys/mman.h>

#include <cinttypes>

namespace tiffin::runtime {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool map_part(const Source& source, uint8_t* target, uint64_t source_offset, uint64_t bytes, int protection) {
  if (bytes == 0) return true;
  const auto position = static_cast<off_t>(source.file_offset() + source_offset);
  return mmap(target, bytes, protection, MAP_PRIVATE | MAP_FIXED, source.descriptor(), position) != MAP_FAILED;
}

// Why the parts cannot be mapped from the file at their places; null when they can.
const char* mapping_obstacle(const Source& source, const CodeLayout& layout, bool allow_mapping) {
  if (!source.is_file()) return source.is_executable() ? "it is linked to an address that is not aligned" : "the artifact is in memory";
  if (!allow_mapping) return "a copy was asked for";
  const uint64_t page = page_bytes();
  const bool is_aligned = layout.constants_bytes % page == 0 && (source.file_offset() + layout.instructions_offset) % page == 0 &&
                          (layout.constants_bytes == 0 || (source.file_offset() + layout.constants_offset) % page == 0);
  return is_aligned ? nullptr : "it does not lie at page boundaries of the file";
}

// Where the code can run as it is; null when it cannot.
const uint8_t* find_in_place(const Source& source, const CodeLayout& layout) {
  if (!source.is_executable() || layout.constants_offset + layout.constants_bytes != layout.instructions_offset) return nullptr;
  const uint8_t* base = source.memory().data() + layout.constants_offset;
  return layout.alignment != 0 && reinterpret_cast<uintptr_t>(base) % layout.alignment == 0 ? base : nullptr;
}

}  // namespace

bool CodeImage::map_parts(const Source& source, const CodeLayout& layout) {
  return map_part(source, pages_.data(), layout.constants_offset, layout.constants_bytes, PROT_READ) &&
         map_part(source, pages_.data() + layout.constants_bytes, layout.instructions_offset, layout.instructions_bytes, PROT_READ | PROT_EXEC);
}

Status CodeImage::copy_parts(const Source& source, const CodeLayout& layout, const Digest* expected) {
  const uint64_t page = page_bytes();
  const uint64_t total = layout.constants_bytes + layout.instructions_bytes;
  const uint64_t span = round_up(total, page);
  uint8_t* base = pages_.data();
  // A fresh mapping, because an attempt to map the file may have replaced a part of the reserved span.
  if (mmap(base, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    return error(Code::OutOfMemory, "no memory for %" PRIu64 " bytes of code", total);
  }
  TIFFIN_TRY(source.read(layout.constants_offset, {base, layout.constants_bytes}));
  TIFFIN_TRY(source.read(layout.instructions_offset, {base + layout.constants_bytes, layout.instructions_bytes}));
  if (expected != nullptr && digest_of({base, static_cast<size_t>(total)}) != *expected) {
    return error(Code::DigestMismatch, "the code of '%s' changed while it was loaded", source.name());
  }
  __builtin___clear_cache(reinterpret_cast<char*>(base), reinterpret_cast<char*>(base + total));
  const uint64_t read_only = layout.constants_bytes / page * page;
  const bool is_protected =
      (read_only == 0 || mprotect(base, read_only, PROT_READ) == 0) && mprotect(base + read_only, span - read_only, PROT_READ | PROT_EXEC) == 0;
  if (!is_protected) return error(Code::Io, "the system allows no executable memory for the code of '%s'", source.name());
  return {};
}

Result<CodeImage> CodeImage::load(const Source& source, const CodeLayout& layout, bool allow_mapping, const Digest* expected) {
  if (const uint8_t* base = find_in_place(source, layout); base != nullptr && allow_mapping && expected == nullptr) return CodeImage(base);
  const uint64_t page = page_bytes();
  const uint64_t total = round_up(layout.constants_bytes + layout.instructions_bytes, page);
  TIFFIN_ASSIGN_OR_RETURN(Pages pages, reserve_pages(total, layout.alignment));
  CodeImage image(std::move(pages));
  const char* obstacle = mapping_obstacle(source, layout, allow_mapping && expected == nullptr);
  if (obstacle == nullptr && !image.map_parts(source, layout)) obstacle = "the file system allows no executable mapping";
  if (obstacle != nullptr) {
    image.is_copied_ = true;
    image.copy_reason_ = obstacle;
    TIFFIN_TRY(image.copy_parts(source, layout, expected));
  }
  return image;
}

}  // namespace tiffin::runtime
