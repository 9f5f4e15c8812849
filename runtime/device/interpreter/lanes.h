// SPDX-License-Identifier: Apache-2.0
// Operations on the lanes of registers: what kernel IR's operations mean (docs/architecture/kernel_ir.md), many lanes at a time. Operands and
// result may be the same register.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/device/interpreter/instruction.h"

namespace tiffin::runtime {

using Frame = uint8_t*;

inline Frame place(Frame frame, uint16_t reg) { return frame + uint32_t{reg} * kPieceBytes; }

template <class T>
T read(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void write(uint8_t* to, T value) {
  memcpy(to, &value, sizeof(T));
}

inline int64_t index_in(Frame frame, uint16_t reg) { return read<int64_t>(place(frame, reg)); }

// Elements of any type to 64 bits, extended as their type says, and back, wrapped. Floats as their bits.
void widen(DType dtype, const uint8_t* from, int lanes, int64_t* to);
void narrow(uint8_t element_shift, const int64_t* from, int lanes, uint8_t* to);
// The element in every lane.
void fill(uint8_t element_shift, uint64_t bits, int lanes, uint8_t* to);

void compute_unary(const Instruction& i, Frame frame);
void compute_binary(const Instruction& i, Frame frame);
void compute_cast(const Instruction& i, Frame frame);
void compute_fma(const Instruction& i, Frame frame, bool is_fused);
void compute_select(const Instruction& i, Frame frame);

}  // namespace tiffin::runtime
