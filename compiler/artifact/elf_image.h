// SPDX-License-Identifier: Apache-2.0
// Lays an artifact out as an ELF64 shared object (System V ABI): where each part lies in memory and in the file, and the ELF structures around
// them. The bytes of the weights are not touched here: they are appended by the writer. docs/architecture/artifact_format.md has the picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/artifact.h"
#include "compiler/codegen/target.h"

namespace tiffin::artifact {

// A section of the artifact on its way into a container. Weights have no bytes here, only a length.
struct Section {
  tiffin_section entry{};  // offset and digest are filled in by the writer
  std::vector<uint8_t> bytes;
};

// A run of file bytes known before writing.
struct Extent {
  uint64_t offset = 0;
  std::vector<uint8_t> bytes;
};

struct ElfImage {
  std::vector<Extent> extents;  // everything but header, table and weights; ascending, not overlapping
  uint64_t header_offset = 0;   // file offset of the tiffin_artifact_header
  uint64_t weights_offset = 0;  // file offset of the weights section; 0 without one
  uint64_t total_length = 0;
};

// A name for a range of the code section, shown by nm and objdump.
struct CodeSymbol {
  std::string name;
  uint64_t offset = 0, size = 0;
};

// Fills in the `offset` (virtual address) of every section and returns the image around them. Precondition: exactly one code section, and
// weights, if any, last.
ElfImage lay_out_elf(std::vector<Section>& sections, const codegen::Target& target, uint64_t query_offset, const std::vector<CodeSymbol>& symbols);

}  // namespace tiffin::artifact
