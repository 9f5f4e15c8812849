// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/elf_needs.h"

#include <elf.h>

#include <cstring>

#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

constexpr uint16_t kMaxSegments = 256;
constexpr uint64_t kMaxDynamicBytes = 1 << 16;
constexpr uint64_t kMaxTextBytes = 4096;

class Reader {
 public:
  Reader(const runtime::Source& source, uint64_t offset, uint64_t length, runtime::Arena& arena)
      : source_(source), offset_(offset), length_(length), arena_(arena) {}
  Result<ElfNeeds> read();

 private:
  Status damaged() const { return error(Code::MissingLibrary, "it is no 64-bit little-endian shared library"); }
  Status read_bytes(uint64_t at, void* out, uint64_t bytes) const {
    if (at > length_ || bytes > length_ - at) return damaged();
    return source_.read(offset_ + at, {static_cast<uint8_t*>(out), static_cast<size_t>(bytes)});
  }
  Status read_segments();
  Result<const char*> text(uint64_t index) const;
  // Position of a virtual address; false when no segment of the file holds it.
  bool find_address(uint64_t address, uint64_t* out) const;

  const runtime::Source& source_;
  uint64_t offset_, length_;
  runtime::Arena& arena_;
  Elf64_Ehdr header_{};
  Array<Elf64_Phdr> segments_;
  Array<Elf64_Dyn> dynamic_;
  uint64_t texts_at_ = 0, texts_bytes_ = 0;
};

Status Reader::read_segments() {
  TIFFIN_TRY(read_bytes(0, &header_, sizeof header_));
  const bool is_ours = memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                       header_.e_ident[EI_DATA] == ELFDATA2LSB && header_.e_type == ET_DYN && header_.e_phentsize == sizeof(Elf64_Phdr);
  if (!is_ours || header_.e_phnum > kMaxSegments) return damaged();
  if (!segments_.resize(header_.e_phnum)) return out_of_memory();
  TIFFIN_TRY(read_bytes(header_.e_phoff, segments_.data(), header_.e_phnum * sizeof(Elf64_Phdr)));
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_filesz > kMaxDynamicBytes) return damaged();
    if (!dynamic_.resize(static_cast<size_t>(segment.p_filesz / sizeof(Elf64_Dyn)))) return out_of_memory();
    return read_bytes(segment.p_offset, dynamic_.data(), dynamic_.size() * sizeof(Elf64_Dyn));
  }
  return {};
}

bool Reader::find_address(uint64_t address, uint64_t* out) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz) continue;
    return !__builtin_add_overflow(segment.p_offset, address - segment.p_vaddr, out);
  }
  return false;
}

Result<const char*> Reader::text(uint64_t index) const {
  char bytes[kMaxTextBytes];
  if (index >= texts_bytes_ || texts_at_ > length_) return damaged();
  uint64_t room = texts_bytes_ - index, at = 0;
  if (__builtin_add_overflow(texts_at_, index, &at) || at >= length_) return damaged();
  if (room > length_ - at) room = length_ - at;
  if (room > sizeof bytes) room = sizeof bytes;
  TIFFIN_TRY(read_bytes(at, bytes, room));
  const size_t size = strnlen(bytes, static_cast<size_t>(room));
  if (size == room) return damaged();
  const char* copy = arena_.copy_text({bytes, size});
  if (copy == nullptr) return out_of_memory();
  return copy;
}

Result<ElfNeeds> Reader::read() {
  TIFFIN_TRY(read_segments());
  ElfNeeds needs;
  needs.machine = header_.e_machine;
  uint64_t texts = 0;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == DT_STRTAB) texts = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) texts_bytes_ = entry.d_un.d_val;
  }
  if (!find_address(texts, &texts_at_)) texts_bytes_ = 0;
  bool has_runpath = false;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == DT_NULL) break;
    const bool is_path = entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !has_runpath);
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && !is_path) continue;
    TIFFIN_ASSIGN_OR_RETURN(const char* value, text(entry.d_un.d_val));
    if (entry.d_tag == DT_NEEDED && !needs.needed.append(value)) return out_of_memory();
    if (entry.d_tag == DT_SONAME) needs.own_name = value;
    if (is_path) needs.search = value;
    has_runpath = has_runpath || entry.d_tag == DT_RUNPATH;
  }
  return needs;
}

}  // namespace

Result<ElfNeeds> read_elf_needs(const runtime::Source& source, uint64_t offset, uint64_t length, runtime::Arena& arena) {
  return Reader(source, offset, length, arena).read();
}

}  // namespace tiffin::tools
