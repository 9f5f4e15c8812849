// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "runtime/artifact/choose_variant.h"
#include "tools/tiffin/export.h"

namespace tiffin::tools {

std::string machine_name(uint16_t machine) {
  if (machine == EM_X86_64) return "x86_64";
  if (machine == EM_AARCH64) return "aarch64";
  return "machine " + std::to_string(machine);
}

uint16_t export_machine(const runtime::Artifact& artifact) {
  const uint16_t own = runtime::this_machine().elf_machine;
  uint16_t first = 0;
  for (const abi::Variant* variant : *artifact.program().variants()) {
    if (variant->machine() == own) return own;
    if (first == 0) first = variant->machine();
  }
  return first == 0 ? own : first;
}

}  // namespace tiffin::tools
