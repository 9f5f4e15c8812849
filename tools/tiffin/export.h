// SPDX-License-Identifier: Apache-2.0
// The forms in which `tiffin export` writes an artifact that was compiled before.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::tools {

// The machine (e_machine) that an exported form is for: this one if the artifact has code for it or only kernels as data, else that of its first
// variant.
uint16_t export_machine(const runtime::Artifact& artifact);
// "x86_64", "aarch64", or "machine 243".
std::string machine_name(uint16_t machine);

// A static tiffin-run with the artifact inside, as `out`. The program is called tiffin-run-static-MACHINE and lies in the first of `folders` that has
// it: MissingLibrary, or UnsupportedTarget for another machine, when none has. InvalidArgument for a folder as artifact, Io.
Status export_executable(const runtime::Artifact& artifact, const std::string& out, const std::vector<std::string>& folders);

struct SystemLibPaths {
  std::string library, header;
  std::string name;  // of the table in C, without _tiffin; "": the network's
};
// A static archive to link into a program, and the header that declares what it defines; variants of other machines are left out. InvalidArgument for
// more than 2 GB, Io.
Status export_system_lib(const runtime::Artifact& artifact, const SystemLibPaths& out);

}  // namespace tiffin::tools
