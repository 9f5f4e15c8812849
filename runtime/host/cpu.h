// SPDX-License-Identifier: Apache-2.0
// What the CPU of this machine can do, by LLVM's names, and how many cores the process may use.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiffin::runtime {

// ELF e_machine of this process; 0 on a machine for which no code can be made.
uint16_t host_machine();

// "x86-64", "aarch64", ...; "an unknown machine" for others.
const char* machine_name(uint16_t elf_machine);

// True when the CPU has the feature and the system saves the registers it needs. False for names that are not known.
bool cpu_has_feature(std::string_view llvm_name);

// Cores in the affinity mask of the process; at least 1.
int usable_core_count();

}  // namespace tiffin::runtime
