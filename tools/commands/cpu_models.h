// SPDX-License-Identifier: Apache-2.0
// Machines that are asked about by a CPU's name or by a list of features: what `doctor` answers for without being there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "runtime/artifact/choose_variant.h"

namespace tiffin::tools {

// The CPUs of one architecture; scripts/generate_cpu_table writes them. Names stand one behind the other, each with its NUL.
struct CpuTable {
  uint16_t elf_machine;
  uint16_t feature_count;
  uint16_t cpu_count;
  const char* features;     // feature i is bit i of a mask
  const uint32_t* implied;  // by feature: what a CPU that has it has as well, itself included
  const char* names;
  const uint32_t* masks;  // by CPU
};
extern const CpuTable kCpuTables[2];

// A machine that is described. Not moved while a Machine taken from it is used; `words` outlives it.
class AskedMachine {
 public:
  // A CPU by LLVM's name; "native" is this machine. UnsupportedTarget with the nearest names.
  static Result<AskedMachine> of_cpu(const char* name);
  // A comma separated list of LLVM's names, with or without '+'; a name brings what it implies ("avx2" has "avx"). Names of features that code
  // never uses are passed over; UnsupportedTarget with the nearest names when there are no others.
  static Result<AskedMachine> of_features(const char* list);

  runtime::Machine machine() const;
  bool is_this() const { return table_ == nullptr; }

 private:
  bool has_feature(std::string_view feature) const;
  const CpuTable* table_ = nullptr;
  uint32_t mask_ = 0;
  const char* list_ = "";  // of of_features
  char name_[64] = "this machine";
};

}  // namespace tiffin::tools
