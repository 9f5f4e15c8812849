// SPDX-License-Identifier: Apache-2.0
// A Target: what to compile for, parsed from the words a user types ("llvm -mcpu=x86-64-v3", "llvm -mtriple=aarch64-linux-gnu") and resolved
// to a triple, a CPU and the exact features that code generation may use. "portable-ir" makes no code: kernels stay data, which any machine
// interprets.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/kernel/machine.h"

namespace tiffin::codegen {

struct Target {
  std::string text;  // normalised: "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 [-mattr=+f,…]", native resolved
  std::string triple, cpu;
  uint16_t elf_machine = 0;           // 62 x86-64, 183 aarch64, 0 portable
  std::vector<std::string> features;  // that code may use and a machine must have, sorted, LLVM's names, from the allow-list of architecture §5
  kernel::Machine machine;

  // Kernels as data: machine code of no kind, no features.
  bool is_portable() const { return elf_machine == 0; }
};

// UnsupportedTarget for an unknown kind, triple, CPU or feature; nearest known names stand in the message. TVM's CPU names (core-avx2) are LLVM's.
Result<Target> parse_target(const std::string& words);

// CPU names that parse_target accepts for a triple's architecture ("x86_64", "aarch64").
std::vector<std::string> known_cpus(const std::string& architecture);

// All CPUs of an architecture, also those that parse_target refuses, with what they have of the allow-list: the source of
// tools/commands/cpu_table.cc.
struct CpuTable {
  std::vector<std::string> features;                   // the allow-list, sorted, at most 32; feature i is bit i of a mask
  std::vector<uint32_t> implied;                       // by feature: what a CPU that has it has as well, itself included
  std::vector<std::pair<std::string, uint32_t>> cpus;  // sorted by name
};
CpuTable cpu_table(const std::string& architecture);

// Of a portable target: the kernels' records (docs/architecture/portable_ir.md), one behind the other. Otherwise position-independent code of all
// kernels: constants, then (page aligned) instructions; no relocation, no import, no writable data.
struct CodeBlob {
  std::vector<uint8_t> bytes;
  uint64_t text_offset = 0;   // of the first instruction
  uint64_t query_offset = 0;  // of tiffin_artifact_query (abi/artifact.h), linked for a blob at TIFFIN_SO_CODE_ADDRESS
  struct Function {
    uint64_t offset = 0, size = 0;
  };
  std::vector<Function> functions;  // in the order of the kernels
};

}  // namespace tiffin::codegen
