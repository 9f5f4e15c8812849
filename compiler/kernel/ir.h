// SPDX-License-Identifier: Apache-2.0
// Kernel IR: a small structured loop language between the plan and machine code. A Kernel is a function over typed buffers that computes a
// range of partition units (abi/kernel.h). Seven statements, nine expressions; printed by printer.h, checked by verifier.h, run by interpreter.h,
// compiled by codegen/llvm. docs/architecture/kernel_ir.md is the reference.
//
// Semantics that every back end shares, bit for bit:
// - No fast-math. FMA only where Fma is written (on targets without FMA it is a rounded multiply, then an add: Kernel::has_fma).
// - Integers wrap. Div and Mod of integers truncate; a zero divisor gives 0, and the overflowing quotient wraps.
// - Float to integer Cast truncates, saturates, and maps NaN to 0. Float16 and BFloat16 are storage types: loads, stores, Cast, Select and bit
//   operations only; arithmetic is done in Float32. Bool is 0 or 1 in one byte; a Cast to Bool is "not equal to zero".
// - Min and Max return NaN if either operand is NaN; of -0 and +0 Min returns -0 and Max +0.
// - Shifts by the width or more give 0 (Shr of signed: the sign).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tiffin::kernel {

// The type of an expression: `lanes` elements of `dtype`; comparisons give Bool. Indices and loop variables are Int64 with one lane.
struct Type {
  DType dtype = DType::Undefined;
  uint16_t lanes = 1;
  bool operator==(const Type&) const = default;
};

enum class ExprKind : uint8_t { Const, Var, Load, Unary, Binary, Fma, Select, Cast, Splat, Lanes };

enum class UnaryOp : uint8_t {
  Neg,
  Abs,
  Not,  // Not: logical on Bool, bitwise on integers
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  RoundEven,
  BitCast,  // to Expr::type, same width
  ReduceAdd,
  ReduceMax,
  ReduceMin,  // lanes to one: halves are combined pairwise, low with high, until one is left
};

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  And,
  Or,
  Xor,
  Shl,
  Shr,  // Shr: arithmetic on signed types
  Equal,
  Less,
  LessEqual,  // false on NaN; "not equal" is Not(Equal)
};

struct Buffer;
struct Variable;
struct ExprNode;
using Expr = const ExprNode*;

// Immutable; owned by the Kernel. Which fields count is said per kind.
struct ExprNode {
  ExprKind kind{};
  Type type;
  // Const: the value, splatted over the lanes. Integers and Bool in `int_value`; floats (all widths) in `float_value`.
  int64_t int_value = 0;
  double float_value = 0;
  const Variable* variable = nullptr;  // Var
  UnaryOp unary{};
  BinaryOp binary{};
  // Unary, Cast, Splat: a. Binary: a, b. Fma: a * b + c rounded once. Select: a (Bool lanes) ? b : c.
  // Lanes: the first lane is a (a scalar integer), lane i is a + i * int_value.
  Expr a = nullptr, b = nullptr, c = nullptr;
  // Load: element index `a` (a scalar: lanes lie at a + i * stride; or as many lanes as the result: a gather). `b`, if any, is the number of
  // active lanes (scalar Int64): lanes at or above it read as zero and touch no memory.
  const Buffer* buffer = nullptr;
  int64_t stride = 1;
};

enum class BufferKind : uint8_t {
  Parameter,  // i-th of the kernel's buffers
  Scratch,    // lies in the calling thread's scratch at `offset` bytes
  Local,      // small, on the stack or in registers
};

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::Parameter;
  DType dtype = DType::Undefined;
  int64_t size = 0;        // elements; every access stays inside
  bool is_output = false;  // Parameter: written (and perhaps read)
  int64_t offset = 0;      // Scratch: bytes, a multiple of 64
  int32_t index = 0;       // Parameter: position among the kernel's parameters
};

// A loop variable, a Let or a register.
struct Variable {
  std::string name;
  Type type;
  int32_t id = 0;
  bool is_register = false;  // may be assigned by Set
};

enum class StmtKind : uint8_t { Block, For, If, Let, Register, Set, Store, Fail };
enum class LoopKind : uint8_t {
  Serial,
  Unrolled,  // constant bounds; the back end emits the body once per iteration
};

struct StmtNode;
using Stmt = const StmtNode*;

struct StmtNode {
  StmtKind kind{};
  std::vector<Stmt> body;              // Block: in order. For, If: the body
  std::vector<Stmt> otherwise;         // If
  const Variable* variable = nullptr;  // For, Let, Register (declares it with initial value `a`), Set (assigns `a`)
  // For: variable from a (inclusive) to b (exclusive) by the constant `step` > 0. If: condition a (Bool scalar). Let, Register, Set: value a.
  // Store: element index a, value b; active lanes c, as in Load.
  Expr a = nullptr, b = nullptr, c = nullptr;
  int64_t step = 1;
  LoopKind loop = LoopKind::Serial;
  const Buffer* buffer = nullptr;  // Store
  int64_t stride = 1;              // Store
  int32_t failure = 0;             // Fail: leave the kernel with this status (abi/kernel.h)
};

class Kernel {
 public:
  explicit Kernel(std::string name);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  std::string name;
  int64_t units = 1;          // partition units; the kernel computes any sub-range of [0, units)
  int64_t scratch_bytes = 0;  // per thread
  int64_t grain = 1;          // fewest units worth a thread of their own
  bool has_fma = true;        // of the target it is built for: how Fma rounds
  // The units to compute. The builder nests `body` in one loop over them.
  const Variable* unit_begin;
  const Variable* unit_end;
  std::vector<Stmt> body;

  const std::vector<const Buffer*>& parameters() const { return parameters_; }
  const std::vector<const Buffer*>& scratch_buffers() const { return scratch_; }

  const Buffer* add_parameter(std::string buffer_name, DType dtype, int64_t size, bool is_output);
  const Buffer* add_scratch(std::string buffer_name, DType dtype, int64_t size);  // grows scratch_bytes
  const Buffer* add_local(std::string buffer_name, DType dtype, int64_t size);
  const Variable* add_variable(std::string variable_name, Type type, bool is_register);
  Expr add(ExprNode node);
  Stmt add(StmtNode node);

 private:
  std::deque<ExprNode> exprs_;
  std::deque<StmtNode> stmts_;
  std::deque<Buffer> buffers_;
  std::deque<Variable> variables_;
  std::vector<const Buffer*> parameters_, scratch_;
};

}  // namespace tiffin::kernel
