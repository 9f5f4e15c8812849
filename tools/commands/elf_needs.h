// SPDX-License-Identifier: Apache-2.0
// What a shared library asks of the dynamic linker: the libraries it needs and where it says to look for them. Reads headers and the dynamic
// table alone, and believes nothing of them.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/status.h"
#include "runtime/host/arena.h"
#include "runtime/host/source.h"

namespace tiffin::tools {

struct ElfNeeds {
  uint16_t machine = 0;       // ELF e_machine
  Array<const char*> needed;  // DT_NEEDED, in the arena
  const char* search = "";    // DT_RUNPATH, or DT_RPATH where there is none
  const char* own_name = "";  // DT_SONAME
};

// Of the library in [offset, offset + length) of the source. MissingLibrary for what is no 64-bit little-endian shared object, Io, OutOfMemory.
Result<ElfNeeds> read_elf_needs(const runtime::Source& source, uint64_t offset, uint64_t length, runtime::Arena& arena);

}  // namespace tiffin::tools
