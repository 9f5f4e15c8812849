// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/serialize.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>

#include "abi/kernel_ir.h"
#include "compiler/kernel/linear_code.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::kernel {
namespace {

// Registers as the record declares them, and which of them each virtual register is.
struct Assignment {
  std::vector<Type> types;  // constants, the range of units, then the rest
  std::vector<uint64_t> constants;
  std::vector<uint64_t> numbers;  // per virtual register
};

// Virtual registers whose ranges do not meet share a register of their type: linear scan (M. Poletto, V. Sarkar, "Linear Scan Register Allocation").
Assignment assign_registers(const LinearCode& code) {
  Assignment result;
  result.numbers.resize(code.registers.size());
  const auto declare = [&](size_t reg) {
    result.numbers[reg] = result.types.size();
    result.types.push_back(code.registers[reg].type);
  };
  for (size_t i = 0; i < code.registers.size(); ++i) {
    if (!code.registers[i].is_constant) continue;
    declare(i);
    result.constants.push_back(code.registers[i].bits);
  }
  declare(static_cast<size_t>(code.unit_begin));
  declare(static_cast<size_t>(code.unit_end));

  std::vector<size_t> order;
  for (size_t i = 0; i < code.registers.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    if (!code.registers[i].is_constant && number != code.unit_begin && number != code.unit_end) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return code.registers[a].first < code.registers[b].first; });
  using Ending = std::pair<int64_t, size_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  std::map<std::pair<DType, int>, std::vector<uint64_t>> free;
  for (const size_t reg : order) {
    const VirtualRegister& wanted = code.registers[reg];
    while (!live.empty() && live.top().first < wanted.first) {
      const size_t ended = live.top().second;
      live.pop();
      free[{code.registers[ended].type.dtype, code.registers[ended].type.lanes}].push_back(result.numbers[ended]);
    }
    std::vector<uint64_t>& usable = free[{wanted.type.dtype, wanted.type.lanes}];
    if (usable.empty()) {
      declare(reg);
    } else {
      result.numbers[reg] = usable.back();
      usable.pop_back();
    }
    live.emplace(wanted.last, reg);
  }
  return result;
}

class Writer {
 public:
  void byte(uint64_t value) { bytes_.push_back(static_cast<uint8_t>(value)); }
  // LEB128.
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(value | 0x80);
    byte(value);
  }
  // The sign in the lowest bit.
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

uint64_t kind_of(const Buffer& buffer) {
  switch (buffer.kind) {
    case BufferKind::Parameter:
      return buffer.is_output ? TIFFIN_IR_OUTPUT : TIFFIN_IR_INPUT;
    case BufferKind::Scratch:
      return TIFFIN_IR_SCRATCH;
    case BufferKind::Local:
      break;
  }
  return TIFFIN_IR_LOCAL;
}

void write_buffer(const Buffer& buffer, Writer& out) {
  out.byte(kind_of(buffer) << 5 | static_cast<uint64_t>(buffer.dtype));
  out.number(static_cast<uint64_t>(buffer.size));
  if (buffer.kind == BufferKind::Scratch) out.number(static_cast<uint64_t>(buffer.offset) / 64);
}

void write_code(const LinearCode& code, const Assignment& registers, Writer& out) {
  for (const LinearInstruction& instruction : code.code) {
    out.byte(instruction.op);
    for (const Operand& operand : instruction.operands) {
      switch (operand.kind) {
        case Operand::Kind::Read:
        case Operand::Kind::Write:
          out.number(registers.numbers[static_cast<size_t>(operand.value)]);
          break;
        case Operand::Kind::Number:
          out.number(static_cast<uint64_t>(operand.value));
          break;
        case Operand::Kind::Signed:
          out.signed_number(operand.value);
          break;
      }
    }
  }
  out.byte(TIFFIN_IR_END);
}

uint64_t pieces_of(const std::vector<Type>& types) {
  uint64_t pieces = 0;
  for (const Type& type : types) {
    pieces +=
        (static_cast<uint64_t>(type.lanes) * static_cast<uint64_t>(element_bytes(type.dtype)) + TIFFIN_IR_PIECE_BYTES - 1) / TIFFIN_IR_PIECE_BYTES;
  }
  return pieces;
}

}  // namespace

Result<std::vector<uint8_t>> serialize_kernel(const Kernel& kernel) {
  const LinearCode code = linearize(kernel);
  const Assignment registers = assign_registers(code);
  const uint64_t pieces = pieces_of(registers.types);
  if (pieces + TIFFIN_IR_MAX_DEPTH > TIFFIN_IR_MAX_PIECES || code.buffers.size() > TIFFIN_IR_MAX_BUFFERS) {
    return error(Code::Internal, "kernel '%s' has %zu buffers and registers of %llu bytes, portable kernels have at most %u and %u",
                 kernel.name.c_str(), code.buffers.size(), static_cast<unsigned long long>(pieces * TIFFIN_IR_PIECE_BYTES), TIFFIN_IR_MAX_BUFFERS,
                 (TIFFIN_IR_MAX_PIECES - TIFFIN_IR_MAX_DEPTH) * TIFFIN_IR_PIECE_BYTES);
  }
  Writer out;
  out.byte(TIFFIN_IR_VERSION);
  out.byte(kernel.has_fma ? TIFFIN_IR_FUSED : 0);
  out.number(static_cast<uint64_t>(kernel.units));
  out.number((static_cast<uint64_t>(kernel.scratch_bytes) + 63) / 64);
  out.number(code.buffers.size());
  for (const Buffer* buffer : code.buffers) write_buffer(*buffer, out);
  out.number(registers.types.size());
  out.number(registers.constants.size());
  for (const Type& type : registers.types) out.byte(static_cast<uint64_t>(std::countr_zero(type.lanes)) << 5 | static_cast<uint64_t>(type.dtype));
  for (const uint64_t bits : registers.constants) out.number(bits);
  write_code(code, registers, out);
  return out.take();
}

}  // namespace tiffin::kernel
