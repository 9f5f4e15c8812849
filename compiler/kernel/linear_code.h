// SPDX-License-Identifier: Apache-2.0
// A kernel as a list of instructions over virtual registers, on its way to a record of bytes (serialize.h): expression trees are flattened, sums of
// indices collected, equal values computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/kernel/ir.h"

namespace tiffin::kernel {

struct Operand {
  enum class Kind : uint8_t { Read, Write, Number, Signed };
  Kind kind;
  int64_t value;  // of a register: its number
};

struct LinearInstruction {
  uint8_t op;  // abi/kernel_ir.h
  std::vector<Operand> operands;
};

struct VirtualRegister {
  Type type;
  bool is_constant = false;
  uint64_t bits = 0;            // of a constant
  int64_t first = 0, last = 0;  // the instructions between which it keeps a value that somebody reads; loops that read it included
};

struct LinearCode {
  std::vector<const Buffer*> buffers;  // parameters first
  std::vector<VirtualRegister> registers;
  int64_t unit_begin = 0, unit_end = 0;  // registers
  std::vector<LinearInstruction> code;
};

// The code of a verified kernel.
LinearCode linearize(const Kernel& kernel);

}  // namespace tiffin::kernel
