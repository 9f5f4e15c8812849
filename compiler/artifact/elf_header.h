// SPDX-License-Identifier: Apache-2.0
// What the headers of all ELF files written here have in common (System V ABI).
#pragma once

#include <elf.h>

#include <cstring>

namespace tiffin::artifact {

// 64 bits, little-endian; `type` is ET_DYN or ET_REL. Where the tables lie is the caller's to say.
inline Elf64_Ehdr elf_header(uint16_t type, uint16_t machine) {
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

}  // namespace tiffin::artifact
