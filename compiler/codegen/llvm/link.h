// SPDX-License-Identifier: Apache-2.0
// Objects to a CodeBlob, with LLD as a library. Nothing is written to a disk: objects are memory files, the result comes through a pipe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/target.h"

namespace tiffin::codegen {

// An ELF object as bytes.
using ObjectBytes = std::vector<char>;

// Links `objects` in their order; the functions of `symbols`, and TIFFIN_QUERY_SYMBOL, must be defined by them. Internal when a symbol is
// undefined or the result needs a relocation at load time. Resets LLVM's command-line options; not to be called by two threads at once.
Result<CodeBlob> link_objects(std::span<const ObjectBytes> objects, std::span<const std::string> symbols, const Target& target);

}  // namespace tiffin::codegen
