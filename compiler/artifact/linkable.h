// SPDX-License-Identifier: Apache-2.0
// Bytes as something to link into a program: an ELF64 relocatable object that defines one tiffin_system_lib, inside a static archive (System V ABI,
// ar(5)). Deterministic: neither times nor paths get in.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/status.h"

namespace tiffin::artifact {

// One file of an unpacked bundle.
struct LinkableMember {
  std::string path;
  bool is_code = false;  // goes where the program's own code lies; everything else is read-only data
  uint64_t alignment = 64;
  uint64_t length = 0;
  std::function<Status(uint64_t at, std::span<uint8_t> out)> read;  // any part of it, each byte once and in order
};

struct Linkable {
  uint16_t machine = 0;  // EM_X86_64 or EM_AARCH64
  std::string symbol;    // of the table: the only one that others can see
  std::string name;      // of the network
  std::vector<LinkableMember> members;
};

// Appends the archive. InvalidArgument for another machine, or for more than 2 GB: code could not reach across them.
Status write_archive(const Linkable& linkable, AtomicFile& file);

}  // namespace tiffin::artifact
