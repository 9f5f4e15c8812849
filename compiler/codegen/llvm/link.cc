// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <unordered_map>

#include "abi/artifact.h"

LLD_HAS_DRIVER(elf)

namespace tiffin::codegen {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() { close_now(); }
  void close_now() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

Result<Descriptor> create_memory_file(const char* name, const char* bytes, size_t size) {
  Descriptor file(memfd_create(name, MFD_CLOEXEC));
  if (file.number() < 0) return error(Code::Io, "a memory file for linking could not be created: %s", std::strerror(errno));
  while (size > 0) {
    const ssize_t written = write(file.number(), bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return error(Code::Io, "a memory file for linking could not be written: %s", std::strerror(errno));
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return file;
}

// The header and the code stand at the addresses that abi/artifact.h fixes. The header's section is a place without bytes: a symbol of a
// section, unlike an absolute one, can be reached PC-relatively from a shared object.
std::string linker_script(const Target& target) {
  const unsigned page = target.elf_machine == 62 ? TIFFIN_PAGE_BYTES : TIFFIN_LARGE_PAGE_BYTES;
  const auto number = [](unsigned value) { return std::to_string(value); };
  return "SECTIONS {\n"
         "  .tiffin.header " +
         number(TIFFIN_SO_HEADER_ADDRESS) +
         " (NOLOAD) : { tiffin_artifact_header = .; . += 64; }\n"
         "  . = " +
         number(TIFFIN_SO_CODE_ADDRESS) +
         ";\n"
         "  .rodata : { *(.rodata .rodata.* .data.rel.ro .data.rel.ro.*) }\n"
         "  . = ALIGN(" +
         number(page) +
         ");\n"
         "  .text : { *(.text .text.*) }\n"
         "  .dynsym : { *(.dynsym) }\n  .dynstr : { *(.dynstr) }\n  .gnu.hash : { *(.gnu.hash) }\n  .dynamic : { *(.dynamic) }\n"
         "  .unwanted : { *(.data .data.* .bss .bss.* COMMON .init_array .init_array.* .tdata .tbss .got .got.plt) }\n"
         "  /DISCARD/ : { *(.comment .note .note.* .eh_frame .eh_frame_hdr) }\n"
         "}\n";
}

std::vector<char> read_to_end(int descriptor) {
  std::vector<char> bytes;
  char block[65536];
  for (;;) {
    const ssize_t count = read(descriptor, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.insert(bytes.end(), block, block + count);
  }
}

// Runs LLD. A pipe is no regular file, so LLD writes the result straight into it instead of renaming a temporary; a thread drains it meanwhile.
Result<std::vector<char>> run_linker(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return error(Code::Io, "a pipe for linking could not be created: %s", std::strerror(errno));
  Descriptor reading(ends[0]), writing(ends[1]);
  arguments.push_back("-o");
  arguments.push_back(writing.path());
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::vector<char> output;
  std::thread reader([&] { output = read_to_end(reading.number()); });
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef driver{lld::Gnu, &lld::elf::link};
  const lld::Result result = lld::lldMain(pointers, stream, stream, driver);
  writing.close_now();
  reader.join();
  if (result.retCode != 0) {
    // The linker opens files of its own, which the limit of descriptors can forbid; it says so in words alone.
    const bool has_descriptors = stream.str().find(std::strerror(EMFILE)) == std::string::npos;
    return error(has_descriptors ? Code::Internal : Code::Io, "generated code does not link: %s", stream.str().c_str());
  }
  return output;
}

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

Status damaged(llvm::Error failure) {
  return error(Code::Internal, "the linker's output is damaged: %s", llvm::toString(std::move(failure)).c_str());
}

// Takes the blob out of the linked ELF file and checks that it stands alone.
class BlobReader {
 public:
  explicit BlobReader(const Elf& elf) : elf_(elf) {}

  Result<CodeBlob> read(std::span<const std::string> symbols) {
    TIFFIN_TRY(read_sections());
    TIFFIN_TRY(read_symbols());
    for (const std::string& symbol : symbols) {
      const auto found = functions_.find(symbol);
      if (found == functions_.end()) return error(Code::Internal, "function '%s' is missing in the linked code", symbol.c_str());
      blob_.functions.push_back(found->second);
    }
    const auto query = functions_.find(TIFFIN_QUERY_SYMBOL);
    if (query == functions_.end()) return error(Code::Internal, "function '%s' is missing in the linked code", TIFFIN_QUERY_SYMBOL);
    blob_.query_offset = query->second.offset;
    return std::move(blob_);
  }

 private:
  Status read_sections() {
    auto sections = elf_.sections();
    if (!sections) return damaged(sections.takeError());
    for (const auto& section : *sections) {
      auto name = elf_.getSectionName(section);
      if (!name) return damaged(name.takeError());
      if (section.sh_type == llvm::ELF::SHT_SYMTAB) symbols_ = &section;
      const bool is_relocation =
          section.sh_type == llvm::ELF::SHT_RELA || section.sh_type == llvm::ELF::SHT_REL || section.sh_type == llvm::ELF::SHT_RELR;
      if ((is_relocation || *name == ".unwanted" || *name == ".got" || *name == ".plt") && section.sh_size != 0) {
        return error(Code::Internal, "generated code has %llu bytes in section '%s', expected none: it must need no relocation and no writable data",
                     static_cast<unsigned long long>(section.sh_size), name->str().c_str());
      }
      if (*name == ".rodata" || *name == ".text") TIFFIN_TRY(take(section, *name == ".text"));
    }
    return {};
  }

  Status take(const Elf::Elf_Shdr& section, bool is_text) {
    auto bytes = elf_.getSectionContents(section);
    if (!bytes) return damaged(bytes.takeError());
    const uint64_t address = section.sh_addr, offset = address - TIFFIN_SO_CODE_ADDRESS;
    if (address < TIFFIN_SO_CODE_ADDRESS || offset > (uint64_t{1} << 31))
      return error(Code::Internal, "generated code lies at an unexpected address");
    if (is_text) blob_.text_offset = offset;
    if (blob_.bytes.size() < offset + bytes->size()) blob_.bytes.resize(offset + bytes->size());
    std::copy(bytes->begin(), bytes->end(), blob_.bytes.begin() + static_cast<ptrdiff_t>(offset));
    return {};
  }

  Status read_symbols() {
    if (symbols_ == nullptr) return error(Code::Internal, "the linker's output has no symbols");
    auto symbols = elf_.symbols(symbols_);
    if (!symbols) return damaged(symbols.takeError());
    auto names = elf_.getStringTableForSymtab(*symbols_);
    if (!names) return damaged(names.takeError());
    for (const auto& symbol : *symbols) {
      if (symbol.getType() != llvm::ELF::STT_FUNC) continue;
      auto name = symbol.getName(*names);
      if (!name) return damaged(name.takeError());
      functions_[name->str()] = {symbol.st_value - TIFFIN_SO_CODE_ADDRESS, symbol.st_size};
    }
    return {};
  }

  const Elf& elf_;
  const Elf::Elf_Shdr* symbols_ = nullptr;
  std::unordered_map<std::string, CodeBlob::Function> functions_;
  CodeBlob blob_;
};

}  // namespace

Result<CodeBlob> link_objects(std::span<const ObjectBytes> objects, std::span<const std::string> symbols, const Target& target) {
  const std::string script = linker_script(target);
  TIFFIN_ASSIGN_OR_RETURN(const Descriptor script_file, create_memory_file("script", script.data(), script.size()));
  std::vector<std::string> arguments = {
      "ld.lld",      "-shared",         "--no-undefined",   "-z", "text",
      "--threads=1", "--build-id=none", "--hash-style=gnu", "-m", target.elf_machine == 62 ? "elf_x86_64" : "aarch64linux",
      "-T",          script_file.path()};
  std::vector<Descriptor> files;
  for (const ObjectBytes& object : objects) {
    TIFFIN_ASSIGN_OR_RETURN(Descriptor file, create_memory_file("object", object.data(), object.size()));
    arguments.push_back(file.path());
    files.push_back(std::move(file));
  }
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<char> linked, run_linker(std::move(arguments)));
  auto elf = Elf::create(llvm::StringRef(linked.data(), linked.size()));
  if (!elf) return damaged(elf.takeError());
  return BlobReader(*elf).read(symbols);
}

}  // namespace tiffin::codegen
