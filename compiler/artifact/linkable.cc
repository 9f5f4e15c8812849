// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/linkable.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "abi/system_lib.h"
#include "base/artifact_layout.h"
#include "compiler/artifact/elf_header.h"

namespace tiffin::artifact {
namespace {

constexpr uint64_t kMaxBytes = 2'000'000'000;
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr const char* kObjectName = "tiffin.o/";  // ar ends names with a slash
static_assert(sizeof(tiffin_system_lib) == 24 && sizeof(tiffin_system_lib_member) == 32);

template <class T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

uint32_t append_text(std::vector<uint8_t>& bytes, const std::string& text) {
  const auto at = static_cast<uint32_t>(bytes.size());
  bytes.insert(bytes.end(), text.c_str(), text.c_str() + text.size() + 1);
  return at;
}

// Sections in this order: null, one for each member, texts, table, relocations of the table, stack note, symbols and their names, section names.
class Object {
 public:
  explicit Object(const Linkable& linkable) : linkable_(linkable) {}

  void lay_out();
  uint64_t length() const { return length_; }
  // Appends `length()` bytes; the object starts at the file's end.
  Status write(AtomicFile& file) const;

 private:
  uint16_t add_section(const std::string& name, uint32_t type, uint64_t flags, uint64_t alignment, uint64_t length);
  uint16_t add_bytes(const std::string& name, uint32_t type, uint64_t flags, uint64_t alignment, std::vector<uint8_t> bytes);
  void add_relocation(uint64_t at, uint16_t section, uint64_t addend);
  void make_table();
  void make_symbols();

  const Linkable& linkable_;
  uint64_t length_ = sizeof(Elf64_Ehdr);
  std::vector<Elf64_Shdr> headers_ = {Elf64_Shdr{}};
  std::vector<std::vector<uint8_t>> contents_ = {{}};  // by section; of members empty
  std::vector<uint8_t> names_ = {0}, relocations_;
  uint16_t table_index_ = 0, relocations_index_ = 0;
};

uint16_t Object::add_section(const std::string& name, uint32_t type, uint64_t flags, uint64_t alignment, uint64_t length) {
  Elf64_Shdr header{};
  header.sh_name = append_text(names_, name);
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_addralign = alignment;
  header.sh_offset = length_ = align_up(length_, alignment);
  header.sh_size = length;
  length_ += length;
  headers_.push_back(header);
  contents_.emplace_back();
  return static_cast<uint16_t>(headers_.size() - 1);
}

uint16_t Object::add_bytes(const std::string& name, uint32_t type, uint64_t flags, uint64_t alignment, std::vector<uint8_t> bytes) {
  const uint16_t index = add_section(name, type, flags, alignment, bytes.size());
  contents_.back() = std::move(bytes);
  return index;
}

// Section symbols have the numbers of their sections.
void Object::add_relocation(uint64_t at, uint16_t section, uint64_t addend) {
  Elf64_Rela relocation{};
  relocation.r_offset = at;
  relocation.r_info = ELF64_R_INFO(static_cast<uint64_t>(section), linkable_.machine == EM_X86_64 ? R_X86_64_64 : R_AARCH64_ABS64);
  relocation.r_addend = static_cast<int64_t>(addend);
  append(relocations_, relocation);
}

// The tiffin_system_lib and behind it its members; every pointer is a relocation.
void Object::make_table() {
  std::vector<uint8_t> texts;
  std::vector<uint32_t> paths;
  const uint32_t name = append_text(texts, linkable_.name);
  for (const LinkableMember& member : linkable_.members) paths.push_back(append_text(texts, member.path));
  const uint16_t texts_index = add_bytes(".rodata." + linkable_.symbol, SHT_PROGBITS, SHF_ALLOC, 1, texts);

  std::vector<uint8_t> table;
  append(table, tiffin_system_lib{TIFFIN_SYSTEM_LIB_VERSION, static_cast<uint32_t>(linkable_.members.size()), nullptr, nullptr});
  for (const LinkableMember& member : linkable_.members) {
    append(table, tiffin_system_lib_member{nullptr, nullptr, member.length, member.is_code ? uint64_t{TIFFIN_MEMBER_EXECUTABLE} : 0});
  }
  table_index_ = add_bytes(".data.rel.ro." + linkable_.symbol, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, table);
  add_relocation(offsetof(tiffin_system_lib, name), texts_index, name);
  add_relocation(offsetof(tiffin_system_lib, members), table_index_, sizeof(tiffin_system_lib));
  for (size_t i = 0; i < linkable_.members.size(); ++i) {
    const uint64_t row = sizeof(tiffin_system_lib) + i * sizeof(tiffin_system_lib_member);
    add_relocation(row + offsetof(tiffin_system_lib_member, path), texts_index, paths[i]);
    add_relocation(row + offsetof(tiffin_system_lib_member, bytes), static_cast<uint16_t>(i + 1), 0);
  }
  relocations_index_ = add_bytes(".rela.data.rel.ro." + linkable_.symbol, SHT_RELA, SHF_INFO_LINK, 8, relocations_);
  headers_.back().sh_info = table_index_;
  headers_.back().sh_entsize = sizeof(Elf64_Rela);
}

void Object::make_symbols() {
  std::vector<uint8_t> symbols, names = {0};
  append(symbols, Elf64_Sym{});
  for (uint16_t section = 1; section <= table_index_; ++section) {
    Elf64_Sym symbol{};
    symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
    symbol.st_shndx = section;
    append(symbols, symbol);
  }
  Elf64_Sym table{};
  table.st_name = append_text(names, linkable_.symbol);
  table.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  table.st_other = STV_HIDDEN;
  table.st_shndx = table_index_;
  table.st_size = headers_[table_index_].sh_size;
  append(symbols, table);
  const uint16_t index = add_bytes(".symtab", SHT_SYMTAB, 0, 8, symbols);
  headers_[index].sh_entsize = sizeof(Elf64_Sym);
  headers_[index].sh_info = table_index_ + 1u;
  headers_[index].sh_link = add_bytes(".strtab", SHT_STRTAB, 0, 1, names);
  headers_[relocations_index_].sh_link = index;
}

void Object::lay_out() {
  for (const LinkableMember& member : linkable_.members) {
    const std::string name = (member.is_code ? ".text." : ".rodata.") + linkable_.symbol;
    add_section(name, SHT_PROGBITS, SHF_ALLOC | (member.is_code ? uint64_t{SHF_EXECINSTR} : 0), member.alignment, member.length);
  }
  make_table();
  add_section(".note.GNU-stack", SHT_PROGBITS, 0, 1, 0);
  make_symbols();
  const uint16_t names = add_section(".shstrtab", SHT_STRTAB, 0, 1, 0);
  headers_[names].sh_size = names_.size();
  contents_[names] = names_;
  length_ = align_up(length_ + names_.size(), 8) + headers_.size() * sizeof(Elf64_Shdr);
}

Status write_zeros(AtomicFile& file, uint64_t count) { return file.sink().write_zeros(count); }

Status write_member(const LinkableMember& member, AtomicFile& file) {
  std::vector<uint8_t> piece(kPieceBytes);
  for (uint64_t at = 0; at < member.length; at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min<uint64_t>(kPieceBytes, member.length - at)));
    TIFFIN_TRY(member.read(at, piece));
    TIFFIN_TRY(file.write(piece));
  }
  return {};
}

Status Object::write(AtomicFile& file) const {
  const uint64_t start = file.written_bytes();
  Elf64_Ehdr elf = elf_header(ET_REL, linkable_.machine);
  elf.e_shoff = length_ - headers_.size() * sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<uint16_t>(headers_.size());
  elf.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
  TIFFIN_TRY(file.write({reinterpret_cast<const uint8_t*>(&elf), sizeof(elf)}));
  for (size_t i = 1; i < headers_.size(); ++i) {
    TIFFIN_TRY(write_zeros(file, start + headers_[i].sh_offset - file.written_bytes()));
    TIFFIN_TRY(i <= linkable_.members.size() ? write_member(linkable_.members[i - 1], file) : file.write(contents_[i]));
  }
  TIFFIN_TRY(write_zeros(file, start + elf.e_shoff - file.written_bytes()));
  return file.write({reinterpret_cast<const uint8_t*>(headers_.data()), headers_.size() * sizeof(Elf64_Shdr)});
}

// Of a member of the archive: 60 bytes of text.
Status write_archive_header(AtomicFile& file, const char* name, uint64_t bytes) {
  char text[61];
  const int length =
      snprintf(text, sizeof(text), "%-16s%-12d%-6d%-6d%-8s%-10llu`\n", name, 0, 0, 0, "100644", static_cast<unsigned long long>(bytes));
  if (length != 60) return error(Code::InvalidArgument, "an archive cannot hold %llu bytes", static_cast<unsigned long long>(bytes));
  return file.write({reinterpret_cast<const uint8_t*>(text), 60});
}

void append_big_endian(std::vector<uint8_t>& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
}

}  // namespace

Status write_archive(const Linkable& linkable, AtomicFile& file) {
  uint64_t total = 0;
  for (const LinkableMember& member : linkable.members) total += member.length;
  if (total > kMaxBytes) {
    return error(Code::InvalidArgument, "the artifact has %llu bytes, at most %llu can be linked into a program",
                 static_cast<unsigned long long>(total), static_cast<unsigned long long>(kMaxBytes))
        .with_remedy("compile with --params external and load the weights from a file");
  }
  if (linkable.machine != EM_X86_64 && linkable.machine != EM_AARCH64) {
    return error(Code::InvalidArgument, "objects are written for x86-64 and aarch64, machine %u is asked for", linkable.machine);
  }
  Object object(linkable);
  object.lay_out();

  std::vector<uint8_t> index;
  append_big_endian(index, 1);
  const size_t even_name = (linkable.symbol.size() + 2) / 2 * 2;
  constexpr uint32_t kMagicBytes = 8, kHeaderBytes = 60;
  append_big_endian(index, static_cast<uint32_t>(kMagicBytes + kHeaderBytes + 8 + even_name));
  append_text(index, linkable.symbol);
  index.resize(8 + even_name);
  TIFFIN_TRY(file.write({reinterpret_cast<const uint8_t*>("!<arch>\n"), kMagicBytes}));
  TIFFIN_TRY(write_archive_header(file, "/", index.size()));
  TIFFIN_TRY(file.write(index));
  TIFFIN_TRY(write_archive_header(file, kObjectName, object.length()));
  return object.write(file);
}

}  // namespace tiffin::artifact
