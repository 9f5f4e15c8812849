// SPDX-License-Identifier: Apache-2.0
// Lays an artifact out as an ELF64 shared object (System V ABI): where each part lies in memory and in the file, and the ELF structures around
// them. The bytes of the weights are not touched here: they are appended by the writer. docs/architecture/artifact_format.md has the picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/artifact/image.h"

namespace tiffin::artifact {

// A name for a range of the code section, shown by nm and objdump.
struct CodeSymbol {
  std::string name;
  uint64_t offset = 0, size = 0;
};

// What the ELF structures say of the code. Without a code section (kernels as data) there is no exported function.
struct ElfCode {
  uint16_t machine = 0;  // e_machine
  uint64_t query_offset = 0;
  std::vector<CodeSymbol> symbols;
};

// Fills in the `offset` (virtual address) of every section and returns the image around them. Precondition: at most one code section, and
// weights, if any, last.
Image lay_out_elf(std::vector<Section>& sections, const ElfCode& code);

}  // namespace tiffin::artifact
