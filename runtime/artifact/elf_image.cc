// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace tiffin::runtime {
namespace {

constexpr uint16_t kMaxProgramHeaders = 256;
constexpr uint64_t kMaxNoteBytes = 4096;

bool starts_with(std::span<const uint8_t> bytes, const char* magic, size_t length) {
  return bytes.size() >= length && memcmp(bytes.data(), magic, length) == 0;
}

bool is_text(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t'; });
}

Status beyond_end(const Source& source, const char* what, uint64_t end) {
  return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, but %s reaches to byte %" PRIu64, source.name(), source.size(), what, end);
}

// [offset, offset + bytes) lies in the source.
Status require_inside(const Source& source, const char* what, uint64_t offset, uint64_t bytes) {
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, bytes, &end)) return error(Code::NotAnArtifact, "'%s' is a damaged ELF file: %s overflows", source.name(), what);
  return end > source.size() ? beyond_end(source, what, end) : Status{};
}

Status check_identity(const Source& source, const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return error(Code::NotAnArtifact, "'%s' is an ELF file of another kind than 64-bit little-endian", source.name());
  }
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kMaxProgramHeaders) {
    return error(Code::NotAnArtifact, "'%s' is an ELF file, but not a shared object that Tiffin wrote", source.name());
  }
  return {};
}

}  // namespace

const char* describe_contents(std::span<const uint8_t> first_bytes) {
  constexpr uint8_t kWeightsMagic[] = TIFFIN_WEIGHTS_MAGIC_BYTES;
  if (first_bytes.empty()) return "empty";
  if (starts_with(first_bytes, ELFMAG, SELFMAG)) return "an ELF file";
  if (starts_with(first_bytes, "PK\x03\x04", 4)) return "a zip archive";
  if (starts_with(first_bytes, "\x1f\x8b", 2)) return "a gzip file";
  if (starts_with(first_bytes, "MZ", 2)) return "a Windows executable";
  if (starts_with(first_bytes, reinterpret_cast<const char*>(kWeightsMagic), sizeof(kWeightsMagic))) return "a file of weights without a program";
  if (first_bytes.size() >= 262 && memcmp(first_bytes.data() + 257, "ustar", 5) == 0) return "a tar archive";
  if (is_text(first_bytes)) return "text";
  return "neither an ELF shared object nor of another known kind";
}

Status ElfImage::find_note(const Source& source, uint64_t offset, uint64_t length) {
  if (length > kMaxNoteBytes) return {};
  uint8_t bytes[kMaxNoteBytes];
  TIFFIN_TRY(source.read(offset, {bytes, length}));
  constexpr uint32_t kOwnerBytes = sizeof(TIFFIN_NOTE_OWNER);
  uint64_t at = 0;
  while (length - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    memcpy(&note, bytes + at, sizeof(note));
    at += sizeof(note);
    const uint64_t owner_bytes = (uint64_t{note.n_namesz} + 3) / 4 * 4, text_bytes = (uint64_t{note.n_descsz} + 3) / 4 * 4;
    if (owner_bytes > length - at || note.n_descsz > length - at - owner_bytes) return {};
    const bool is_ours = note.n_namesz == kOwnerBytes && memcmp(bytes + at, TIFFIN_NOTE_OWNER, kOwnerBytes) == 0;
    const uint8_t* description = bytes + at + owner_bytes;
    if (is_ours && note.n_type == TIFFIN_NOTE_TYPE && note.n_descsz >= sizeof(tiffin_note)) {
      memcpy(&parts_.note, description, sizeof(parts_.note));
      parts_.has_note = true;
      return {};
    }
    if (is_ours && note.n_type == TIFFIN_ENCLOSURE_NOTE_TYPE && note.n_descsz >= sizeof(tiffin_enclosure)) {
      memcpy(&parts_.enclosure, description, sizeof(parts_.enclosure));
      parts_.enclosure_position = offset + static_cast<uint64_t>(description - bytes);
    }
    at += owner_bytes + std::min(text_bytes, length - at - owner_bytes);
  }
  return {};
}

Status ElfImage::read_program_headers(const Source& source) {
  Elf64_Ehdr header;
  if (source.size() < sizeof(header)) return beyond_end(source, "its ELF header", sizeof(header));
  TIFFIN_TRY(source.read(0, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}));
  TIFFIN_TRY(check_identity(source, header));
  parts_.machine = header.e_machine;
  const uint64_t table_bytes = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  TIFFIN_TRY(require_inside(source, "its table of segments", header.e_phoff, table_bytes));
  const uint64_t sections_bytes = uint64_t{header.e_shnum} * header.e_shentsize;
  TIFFIN_TRY(require_inside(source, "its table of sections", header.e_shoff, sections_bytes));
  parts_.complete_length = std::max(header.e_phoff + table_bytes, header.e_shoff + sections_bytes);

  auto* table = arena_.allocate<Elf64_Phdr>(header.e_phnum);
  auto* segments = arena_.allocate<Segment>(header.e_phnum);
  if (table == nullptr || segments == nullptr) return error(Code::OutOfMemory, "no memory for the segments of '%s'", source.name());
  TIFFIN_TRY(source.read(header.e_phoff, {reinterpret_cast<uint8_t*>(table), table_bytes}));
  size_t count = 0;
  for (const Elf64_Phdr& entry : std::span(table, header.e_phnum)) {
    if (entry.p_type != PT_LOAD && entry.p_type != PT_NOTE) continue;
    TIFFIN_TRY(require_inside(source, "a segment", entry.p_offset, entry.p_filesz));
    parts_.complete_length = std::max(parts_.complete_length, entry.p_offset + entry.p_filesz);
    if (entry.p_type == PT_LOAD) segments[count++] = {entry.p_vaddr, entry.p_offset, entry.p_filesz};
    if (entry.p_type == PT_NOTE && !parts_.has_note) TIFFIN_TRY(find_note(source, entry.p_offset, entry.p_filesz));
  }
  parts_.segments = {segments, count};
  return {};
}

Status ElfImage::read_program(const Source& source) {
  uint8_t first[512];
  const auto known = static_cast<size_t>(std::min<uint64_t>(source.size(), sizeof(first)));
  TIFFIN_TRY(source.read(0, {first, known}));
  if (!starts_with({first, known}, ELFMAG, SELFMAG)) {
    return error(Code::NotAnArtifact, "'%s' is not a Tiffin artifact: it is %s", source.name(), describe_contents({first, known}));
  }
  parts_ = {};
  parts_.name = arena_.copy_text(source.name());
  if (parts_.name == nullptr) return error(Code::OutOfMemory, "no memory for a file's name");
  return read_program_headers(source);
}

Status ElfImage::read(const Source& source) {
  TIFFIN_TRY(read_program(source));
  if (parts_.has_note || parts_.enclosure.length > 0) return {};
  return error(Code::NotAnArtifact, "'%s' is not a Tiffin artifact: it is an ELF shared object without a Tiffin note", source.name());
}

Result<uint64_t> ElfImage::translate(const char* what, uint64_t address, uint64_t length) const {
  for (const Segment& segment : parts_.segments) {
    if (address < segment.address || address - segment.address > segment.bytes) continue;
    const uint64_t inner = address - segment.address;
    if (length <= segment.bytes - inner && (length > 0 || inner < segment.bytes)) return segment.offset + inner;
  }
  if (length == 0) return uint64_t{0};
  return error(Code::NotAnArtifact, "'%s' is damaged: %s at address 0x%" PRIx64 " with %" PRIu64 " bytes lies in no segment", parts_.name, what,
               address, length);
}

}  // namespace tiffin::runtime
