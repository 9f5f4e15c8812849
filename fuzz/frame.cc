// SPDX-License-Identifier: Apache-2.0
#include "fuzz/frame.h"

#include <elf.h>

#include <cstring>

#include "base/artifact_layout.h"
#include "fuzz/target.h"
#include "runtime/artifact/container.h"

namespace tiffin::fuzz {
namespace {

constexpr size_t kNoteAt = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr), kHeaderAt = kNoteAt + 40;

struct Note {
  Elf64_Nhdr header{sizeof(TIFFIN_NOTE_OWNER), sizeof(tiffin_note), TIFFIN_NOTE_TYPE};
  char owner[8] = TIFFIN_NOTE_OWNER;
  uint32_t where[4] = {kHeaderAt, 0, 0, 0};  // a tiffin_note
};
static_assert(sizeof(Note) <= kHeaderAt - kNoteAt);

size_t align64(size_t at) { return (at + 63) / 64 * 64; }

}  // namespace

Frame::Frame(const char* path, tiffin_section_kind kind) {
  auto source = runtime::Source::open(path);
  require(source.has_value(), "the model around the section can be read");
  auto container = runtime::Container::open(std::move(source).value(), runtime::VerifyLevel::None);
  require(container.has_value(), "the model around the section is an artifact");
  file_.resize(align64(kHeaderAt + sizeof(tiffin_artifact_header) + container->sections().size() * sizeof(tiffin_section)));
  runtime::Arena arena;
  const auto add = [this](const runtime::Section& section, std::span<const uint8_t> bytes) {
    tiffin_section entry{};
    entry.kind = section.kind;
    entry.version = section.version;
    entry.flags = section.is_required ? TIFFIN_SECTION_REQUIRED : 0;
    memcpy(entry.name, section.name.data(), section.name.size());
    entry.offset = file_.size();
    entry.length = bytes.size();
    entry.alignment = section.alignment;
    memcpy(entry.digest, digest_of(bytes).bytes.data(), sizeof(entry.digest));
    table_.push_back(entry);
    file_.insert(file_.end(), bytes.begin(), bytes.end());
    file_.resize(align64(file_.size()));
  };
  const runtime::Section* replaced = container->find(kind);
  require(replaced != nullptr, "the model has such a section");
  for (const runtime::Section& section : container->sections()) {
    if (&section == replaced || is_attachment(section.kind)) continue;
    const auto bytes = container->read_section(section, arena);
    require(bytes.has_value(), "the model's sections can be read");
    add(section, *bytes);
  }
  add(*replaced, {});
  fixed_bytes_ = file_.size();
}

void Frame::write_front() {
  Elf64_Ehdr elf{};
  memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_type = ET_DYN;
  elf.e_phoff = sizeof(elf);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = 2;
  const Elf64_Phdr segments[2] = {{PT_LOAD, PF_R, 0, 0, 0, file_.size(), file_.size(), 4096},
                                  {PT_NOTE, PF_R, kNoteAt, kNoteAt, kNoteAt, sizeof(Note), sizeof(Note), 4}};
  const Note note;
  memcpy(file_.data(), &elf, sizeof(elf));
  memcpy(file_.data() + sizeof(elf), segments, sizeof(segments));
  memcpy(file_.data() + kNoteAt, &note, sizeof(note));
}

std::span<const uint8_t> Frame::around(std::span<const uint8_t> section) {
  file_.resize(fixed_bytes_);
  file_.insert(file_.end(), section.begin(), section.end());
  table_.back().length = section.size();
  memcpy(table_.back().digest, digest_of(section).bytes.data(), sizeof(Digest));
  write_front();
  const tiffin_artifact_header header = make_header(table_, file_.size());
  memcpy(file_.data() + kHeaderAt, &header, sizeof(header));
  memcpy(file_.data() + kHeaderAt + sizeof(header), table_.data(), table_.size() * sizeof(tiffin_section));
  return file_;
}

}  // namespace tiffin::fuzz
