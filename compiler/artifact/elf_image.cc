// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "abi/version.h"
#include "base/artifact_layout.h"
#include "compiler/artifact/elf_header.h"

namespace tiffin::artifact {
namespace {

constexpr uint64_t kSmallAlignment = 64;

template <class T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  memcpy(bytes.data() + at, &value, sizeof(T));
}

// Names in a string table; offset 0 is "".
class StringTable {
 public:
  uint32_t add(const std::string& text) {
    const auto at = static_cast<uint32_t>(bytes_.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return at;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_ = {0};
};

class Builder {
 public:
  Builder(std::vector<Section>& sections, const ElfCode& code) : sections_(sections), code_(code) {
    page_ = code.machine == EM_AARCH64 ? TIFFIN_LARGE_PAGE_BYTES : TIFFIN_PAGE_BYTES;
    has_code_ = find(TIFFIN_SECTION_CODE) != nullptr;
  }

  Image build();

 private:
  struct Placed {
    uint64_t address = 0, offset = 0, length = 0;
  };

  void place_front();
  void place_code();
  void place_tables();
  void place_dynamic();
  void place_weights();
  void add_symbols();
  void finish();
  void add_segment(uint32_t type, uint32_t flags, const Placed& placed, uint64_t alignment);
  uint16_t add_section(const char* name, uint32_t type, uint64_t flags, const Placed& placed, uint64_t alignment);
  void emit(uint64_t offset, std::vector<uint8_t> bytes) { image_.extents.push_back({offset, std::move(bytes)}); }
  Section* find(uint32_t kind);
  // A load segment starts on a page of its own; its file offset is congruent to its address.
  void start_segment() {
    address_ = align_up(address_, page_);
    offset_ = align_up(offset_, page_);
  }

  std::vector<Section>& sections_;
  const ElfCode& code_;
  bool has_code_ = false;
  uint64_t page_ = 0, address_ = 0, offset_ = 0;
  Image image_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> headers_ = {Elf64_Shdr{}};
  StringTable section_names_;
  std::vector<uint8_t> front_;  // the bytes from file offset 0 up to the header
  uint16_t dynsym_index_ = 0, dynstr_index_ = 0, text_index_ = 0;
  Placed note_, dynsym_, dynstr_, hash_;
};

Section* Builder::find(uint32_t kind) {
  const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.entry.kind == kind; });
  return found == sections_.end() ? nullptr : &*found;
}

void Builder::add_segment(uint32_t type, uint32_t flags, const Placed& placed, uint64_t alignment) {
  Elf64_Phdr segment{};
  segment.p_type = type;
  segment.p_flags = flags;
  segment.p_offset = placed.offset;
  segment.p_vaddr = segment.p_paddr = placed.address;
  segment.p_filesz = segment.p_memsz = placed.length;
  segment.p_align = alignment;
  segments_.push_back(segment);
}

uint16_t Builder::add_section(const char* name, uint32_t type, uint64_t flags, const Placed& placed, uint64_t alignment) {
  Elf64_Shdr header{};
  header.sh_name = section_names_.add(name);
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_addr = placed.address;
  header.sh_offset = placed.offset;
  header.sh_size = placed.length;
  header.sh_addralign = alignment;
  headers_.push_back(header);
  return static_cast<uint16_t>(headers_.size() - 1);
}

// ELF header, program headers, note, dynamic symbol, hash; then the artifact's header and table at TIFFIN_SO_HEADER_ADDRESS.
void Builder::place_front() {
  constexpr uint64_t kMaxSegments = 16;
  front_.resize(sizeof(Elf64_Ehdr) + kMaxSegments * sizeof(Elf64_Phdr));
  const auto place = [&](const std::vector<uint8_t>& bytes) {
    front_.resize(align_up(front_.size(), 8));
    const Placed placed{front_.size(), front_.size(), bytes.size()};
    front_.insert(front_.end(), bytes.begin(), bytes.end());
    return placed;
  };
  const uint64_t table_bytes = sizeof(tiffin_artifact_header) + sections_.size() * sizeof(tiffin_section);

  std::vector<uint8_t> note;
  const std::string version = std::string("tiffin ") + TIFFIN_VERSION;
  const std::string owner = TIFFIN_NOTE_OWNER;
  append(note,
         Elf64_Nhdr{static_cast<uint32_t>(owner.size() + 1), static_cast<uint32_t>(sizeof(tiffin_note) + version.size() + 1), TIFFIN_NOTE_TYPE});
  note.insert(note.end(), owner.begin(), owner.end());
  note.resize(align_up(note.size() + 1, 4));
  append(note, tiffin_note{TIFFIN_SO_HEADER_ADDRESS, table_bytes});
  note.insert(note.end(), version.begin(), version.end());
  note.resize(align_up(note.size() + 1, 4));
  note_ = place(note);

  StringTable names;
  Elf64_Sym query{};
  query.st_name = names.add(TIFFIN_QUERY_SYMBOL);
  names.add("tiffin-artifact.so");
  query.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  query.st_shndx = 0;  // set once .text has its index
  query.st_value = TIFFIN_SO_CODE_ADDRESS + code_.query_offset;
  std::vector<uint8_t> dynsym;
  append(dynsym, Elf64_Sym{});
  if (has_code_) append(dynsym, query);
  dynsym_ = place(dynsym);
  dynstr_ = place(names.bytes());

  std::vector<uint8_t> hash;
  const uint32_t exported = has_code_ ? 1 : 0;
  for (const uint32_t word : {1u, 1 + exported, exported, 0u, 0u}) append(hash, word);  // DT_HASH of one bucket: the symbol, if any; no chain
  hash_ = place(hash);

  image_.header_offset = TIFFIN_SO_HEADER_ADDRESS;
  const Placed whole{0, 0, TIFFIN_SO_HEADER_ADDRESS + table_bytes};
  add_segment(PT_PHDR, PF_R, {sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr), 0}, 8);  // length set in finish()
  add_segment(PT_GNU_STACK, PF_R | PF_W, {}, 16);
  add_segment(PT_LOAD, PF_R, whole, page_);
  add_segment(PT_NOTE, PF_R, note_, 4);
  add_section(".note.tiffin", SHT_NOTE, SHF_ALLOC, note_, 4);
  dynsym_index_ = add_section(".dynsym", SHT_DYNSYM, SHF_ALLOC, dynsym_, 8);
  dynstr_index_ = add_section(".dynstr", SHT_STRTAB, SHF_ALLOC, dynstr_, 1);
  headers_[dynsym_index_].sh_link = dynstr_index_;
  headers_[dynsym_index_].sh_info = 1;
  headers_[dynsym_index_].sh_entsize = sizeof(Elf64_Sym);
  const uint16_t hash_index = add_section(".hash", SHT_HASH, SHF_ALLOC, hash_, 8);
  headers_[hash_index].sh_link = dynsym_index_;
  headers_[hash_index].sh_entsize = 4;
  add_section(".tiffin.header", SHT_PROGBITS, SHF_ALLOC, {TIFFIN_SO_HEADER_ADDRESS, TIFFIN_SO_HEADER_ADDRESS, table_bytes}, 64);
  offset_ = address_ = whole.length;
}

void Builder::place_code() {
  Section& code = *find(TIFFIN_SECTION_CODE);
  address_ = TIFFIN_SO_CODE_ADDRESS;
  offset_ = align_up(offset_, page_);
  code.entry.offset = address_;
  const uint64_t text = code.entry.detail;
  if (text > 0) {
    const Placed constants{address_, offset_, text};
    add_segment(PT_LOAD, PF_R, constants, page_);
    add_section(".rodata", SHT_PROGBITS, SHF_ALLOC, constants, 64);
  }
  const Placed instructions{address_ + text, offset_ + text, code.bytes.size() - text};
  add_segment(PT_LOAD, PF_R | PF_X, instructions, page_);
  text_index_ = add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, instructions, 64);
  emit(offset_, code.bytes);
  address_ += code.bytes.size();
  offset_ += code.bytes.size();
}

// Everything that is neither code nor weights: one read-only segment.
void Builder::place_tables() {
  start_segment();
  const Placed start{address_, offset_, 0};
  for (Section& section : sections_) {
    if (section.entry.kind == TIFFIN_SECTION_CODE || section.entry.kind == TIFFIN_SECTION_WEIGHTS) continue;
    address_ = align_up(address_, kSmallAlignment);
    offset_ = align_up(offset_, kSmallAlignment);
    section.entry.offset = address_;
    const std::string name = std::string(".tiffin.") + section.entry.name;
    add_section(name.c_str(), SHT_PROGBITS, SHF_ALLOC, {address_, offset_, section.bytes.size()}, kSmallAlignment);
    emit(offset_, section.bytes);
    address_ += section.bytes.size();
    offset_ += section.bytes.size();
  }
  add_segment(PT_LOAD, PF_R, {start.address, start.offset, offset_ - start.offset}, page_);
}

// glibc writes into .dynamic, so it has a writable segment of its own, which Tiffin's runtime does not map.
void Builder::place_dynamic() {
  start_segment();
  std::vector<uint8_t> bytes;
  const auto entry = [&](int64_t tag, uint64_t value) {
    Elf64_Dyn dynamic{};
    dynamic.d_tag = tag;
    dynamic.d_un.d_val = value;
    append(bytes, dynamic);
  };
  entry(DT_SONAME, 1 + std::string(TIFFIN_QUERY_SYMBOL).size() + 1);
  entry(DT_HASH, hash_.address);
  entry(DT_STRTAB, dynstr_.address);
  entry(DT_SYMTAB, dynsym_.address);
  entry(DT_STRSZ, dynstr_.length);
  entry(DT_SYMENT, sizeof(Elf64_Sym));
  entry(DT_NULL, 0);
  const Placed placed{address_, offset_, bytes.size()};
  add_segment(PT_LOAD, PF_R | PF_W, placed, page_);
  add_segment(PT_DYNAMIC, PF_R | PF_W, placed, 8);
  const uint16_t index = add_section(".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, placed, 8);
  headers_[index].sh_link = dynstr_index_;
  headers_[index].sh_entsize = sizeof(Elf64_Dyn);
  address_ += bytes.size();
  offset_ += bytes.size();
  emit(placed.offset, std::move(bytes));
}

void Builder::place_weights() {
  Section* weights = find(TIFFIN_SECTION_WEIGHTS);
  if (weights == nullptr) return;
  start_segment();
  weights->entry.offset = address_;
  image_.weights_offset = offset_;
  const Placed placed{address_, offset_, weights->entry.length};
  add_segment(PT_LOAD, PF_R, placed, page_);
  add_section(".tiffin.weights", SHT_PROGBITS, SHF_ALLOC, placed, TIFFIN_PAGE_BYTES);
  address_ += placed.length;
  offset_ += placed.length;
}

// Kernel names for nm and objdump; `strip` removes them and nothing depends on them.
void Builder::add_symbols() {
  StringTable names;
  std::vector<uint8_t> table;
  append(table, Elf64_Sym{});
  for (const CodeSymbol& symbol : code_.symbols) {
    Elf64_Sym entry{};
    entry.st_name = names.add(symbol.name);
    entry.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
    entry.st_shndx = text_index_;
    entry.st_value = TIFFIN_SO_CODE_ADDRESS + symbol.offset;
    entry.st_size = symbol.size;
    append(table, entry);
  }
  offset_ = align_up(offset_, 8);
  const uint16_t symtab = add_section(".symtab", SHT_SYMTAB, 0, {0, offset_, table.size()}, 8);
  headers_[symtab].sh_entsize = sizeof(Elf64_Sym);
  headers_[symtab].sh_info = static_cast<uint32_t>(code_.symbols.size() + 1);
  emit(offset_, table);
  offset_ += table.size();
  headers_[symtab].sh_link = add_section(".strtab", SHT_STRTAB, 0, {0, offset_, names.bytes().size()}, 1);
  emit(offset_, names.bytes());
  offset_ += names.bytes().size();
}

// Section headers at the very end, then the ELF header and program headers into the front.
void Builder::finish() {
  const uint32_t own_name = section_names_.add(".shstrtab");
  const std::vector<uint8_t>& names = section_names_.bytes();
  Elf64_Shdr strings{};
  strings.sh_name = own_name;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = offset_;
  strings.sh_size = names.size();
  strings.sh_addralign = 1;
  headers_.push_back(strings);
  emit(offset_, names);
  offset_ = align_up(offset_ + names.size(), 8);

  std::vector<uint8_t> table;
  for (const Elf64_Shdr& header : headers_) append(table, header);
  segments_[0].p_filesz = segments_[0].p_memsz = segments_.size() * sizeof(Elf64_Phdr);
  Elf64_Ehdr elf = elf_header(ET_DYN, code_.machine);
  elf.e_phoff = sizeof(Elf64_Ehdr);
  elf.e_shoff = offset_;
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = static_cast<uint16_t>(segments_.size());
  elf.e_shnum = static_cast<uint16_t>(headers_.size());
  elf.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
  memcpy(front_.data(), &elf, sizeof(elf));
  memcpy(front_.data() + sizeof(elf), segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
  const uint16_t text = text_index_;
  if (has_code_) memcpy(front_.data() + dynsym_.offset + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx), &text, sizeof(text));
  emit(offset_, table);
  image_.total_length = offset_ + table.size();
  emit(0, std::move(front_));
  std::sort(image_.extents.begin(), image_.extents.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
}

Image Builder::build() {
  place_front();
  if (has_code_) place_code();
  place_tables();
  place_dynamic();
  place_weights();
  if (has_code_) add_symbols();
  finish();
  return std::move(image_);
}

}  // namespace

Image lay_out_elf(std::vector<Section>& sections, const ElfCode& code) { return Builder(sections, code).build(); }

}  // namespace tiffin::artifact
