// SPDX-License-Identifier: Apache-2.0
// The libraries that travel with an artifact and all that those need, each looked for as the dynamic linker would: what `ldd` answers, without
// running anything.
#pragma once

#include "base/array.h"
#include "base/status.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::tools {

struct Library {
  const char* name;
  const char* path;       // where it was found: "FILE:NAME" for one that travels; null when it was not
  const char* needed_by;  // the library that asks for it; null for one that travels
  const char* fault;      // why one that travels is none; else null
};

struct Libraries {
  Array<Library> list;
  runtime::Arena arena;  // of the texts
};

// Order of search: with the artifact, beside it, and, if `is_here`, the library's RPATH or RUNPATH, LD_LIBRARY_PATH, the linker's cache, the
// system's folders. Only code for `elf_machine` counts. Io, OutOfMemory.
Status find_libraries(const runtime::Artifact& artifact, uint16_t elf_machine, bool is_here, Libraries& out);

}  // namespace tiffin::tools
