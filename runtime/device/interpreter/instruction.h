// SPDX-License-Identifier: Apache-2.0
// The byte code of a record, and what the reader makes of it: instructions of one size whose registers are places in the frame.
#pragma once

#include <cstdint>

#include "abi/kernel_ir.h"
#include "base/dtype.h"

namespace tiffin::runtime {

enum OpCode : uint8_t {
  kEnd = TIFFIN_IR_END,
  kFor = TIFFIN_IR_FOR,
  kIf = TIFFIN_IR_IF,
  kElse = TIFFIN_IR_ELSE,
  kFail = TIFFIN_IR_FAIL,
  kCopy = TIFFIN_IR_COPY,
  kSplat = TIFFIN_IR_SPLAT,
  kLanes = TIFFIN_IR_LANES,
  kLinear = TIFFIN_IR_LINEAR,
  kLoad = TIFFIN_IR_LOAD,
  kLoadActive = TIFFIN_IR_LOAD_ACTIVE,
  kStore = TIFFIN_IR_STORE,
  kStoreActive = TIFFIN_IR_STORE_ACTIVE,
  kGather = TIFFIN_IR_GATHER,
  kGatherActive = TIFFIN_IR_GATHER_ACTIVE,
  kScatter = TIFFIN_IR_SCATTER,
  kScatterActive = TIFFIN_IR_SCATTER_ACTIVE,
  kSelect = TIFFIN_IR_SELECT,
  kFma = TIFFIN_IR_FMA,
  kCast = TIFFIN_IR_CAST,
  kUnary = TIFFIN_IR_UNARY,
  kBinary = TIFFIN_IR_BINARY,
  // Made by the reader only.
  kNext = 64,  // the end of a For
  kJump = 65,  // the end of a taken branch that has another
};

// Added to kUnary and kBinary, in kernel IR's order.
enum UnaryCode : uint8_t { kNeg, kAbs, kNot, kSqrt, kFloor, kCeil, kTrunc, kRoundEven, kBitCast, kReduceAdd, kReduceMax, kReduceMin, kUnaryEnd };
enum BinaryCode : uint8_t { kAdd, kSub, kMul, kDiv, kMod, kMin, kMax, kAnd, kOr, kXor, kShl, kShr, kEqual, kLess, kLessEqual, kBinaryEnd };

// Registers lie in the frame at multiples of 16 bytes and fill whole 16-byte pieces, so that lanes can be computed with 16 bytes at a time.
inline constexpr uint32_t kPieceBytes = TIFFIN_IR_PIECE_BYTES;

// Registers are numbers of pieces of the frame. What a field means for an operation stands beside it.
struct Instruction {
  uint8_t op;
  DType dtype;        // of the operands; Cast: of the operand; memory: of the buffer
  DType to;           // Cast: of the result
  uint8_t lanes;      // of the operands; memory: of the value
  uint16_t d;         // result; Store: the value; For: the variable
  uint16_t a, b, c;   // operands; memory: a the index lanes, b active lanes, c terms; For: a begin, b end, c its state
  uint32_t target;    // For, If, Else, Next: the instruction to go to; memory: the buffer; others: pieces of the result
  int64_t immediate;  // Lanes: step; Linear, memory: constant of the address; For, Next: step; Fail: status
  int64_t stride;     // memory
};

// Terms of a Linear or an address, register times coefficient, follow their instruction, two to a slot: a * immediate + b * stride.
static_assert(sizeof(Instruction) == 32);

// log2 of the bytes of an element; the types that kernels know have 1, 2, 4 or 8.
inline uint8_t element_shift_of(DType dtype) {
  switch (dtype) {
    case DType::Int64:
    case DType::UInt64:
    case DType::Float64:
      return 3;
    case DType::Int32:
    case DType::UInt32:
    case DType::Float32:
      return 2;
    case DType::Int16:
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      return 1;
    default:
      return 0;
  }
}

}  // namespace tiffin::runtime
