// SPDX-License-Identifier: Apache-2.0
// Kernel IR to LLVM IR, one kernel into one function of abi/kernel.h's signature. Statements are in emit_statements.cc, expressions in
// emit_expressions.cc, arithmetic in emit_arithmetic.cc, conversions in emit_casts.cc, loads and stores in emit_memory.cc.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "compiler/codegen/target.h"
#include "compiler/kernel/ir.h"

namespace tiffin::codegen {

// In registers Bool is i1 and the 16-bit floats are i16; in memory Bool is i8.
llvm::Type* register_type(llvm::LLVMContext& context, kernel::Type type);
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, int lanes);

// Emits a verified kernel. One emitter per function; not thread-safe, nor is the module's context.
class Emitter {
 public:
  Emitter(llvm::Module& module, const kernel::Kernel& kernel, const Target& target);

  // Defines the function `symbol`; sets no attributes.
  llvm::Function* emit(const std::string& symbol);

 private:
  using Expr = kernel::Expr;

  struct BufferState {
    llvm::Value* pointer = nullptr;
    llvm::MDNode* scope = nullptr;    // its own alias scope
    llvm::MDNode* noalias = nullptr;  // those of the buffers it cannot overlap
  };

  // statements
  void bind_buffers();
  void bind_aliasing(const std::vector<const kernel::Buffer*>& buffers);
  void bind_local(const kernel::Buffer& buffer);
  void emit_block(const std::vector<kernel::Stmt>& body);
  void emit_statement(const kernel::StmtNode& stmt);
  void emit_loop(const kernel::StmtNode& stmt);
  void emit_unrolled(const kernel::StmtNode& stmt, int64_t begin, int64_t end);
  void emit_if(const kernel::StmtNode& stmt);
  void emit_register(const kernel::StmtNode& stmt);
  void emit_fail(const kernel::StmtNode& stmt);

  // expressions
  llvm::Value* value_of(Expr expr);
  llvm::Value* compute(const kernel::ExprNode& e);
  llvm::Value* variable_value(const kernel::Variable& variable);
  llvm::Constant* constant(kernel::Type type, int64_t integer, double number);
  llvm::Value* lanes_of(llvm::Value* first, int64_t step, int lanes);
  llvm::Value* reduce(const kernel::ExprNode& e);
  llvm::Value* fma(const kernel::ExprNode& e);
  // log2 of a factor that an index is known to have.
  int known_factor(Expr expr);
  int compute_factor(Expr expr);

  // arithmetic
  llvm::Value* unary(kernel::UnaryOp op, kernel::Type type, llvm::Value* a, kernel::Type result);
  llvm::Value* binary(kernel::BinaryOp op, kernel::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_binary(kernel::BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* integer_binary(kernel::BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(kernel::BinaryOp op, kernel::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* min_max(bool is_max, llvm::Value* a, llvm::Value* b);
  llvm::Value* ordered_min_max(bool is_max, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(bool is_signed, bool wants_remainder, llvm::Value* a, llvm::Value* b);
  llvm::Value* shift(kernel::BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_remainder(llvm::Value* a, llvm::Value* b);
  llvm::Function* remainder_function(llvm::Type* type);

  // conversions
  llvm::Value* cast(kernel::Type from, kernel::Type to, llvm::Value* value);
  llvm::Value* saturate_vector(DType target, llvm::Value* value, int lanes);
  llvm::Value* cast_float(DType from, DType to, llvm::Value* value, int lanes);
  llvm::Value* widen_half(llvm::Value* half, int lanes);
  llvm::Value* narrow_to_half(llvm::Value* value, int lanes);
  llvm::Value* narrow_to_bfloat(llvm::Value* value, int lanes);
  llvm::Value* narrow_to_odd(llvm::Value* value, int lanes);

  // memory
  llvm::Value* load(const kernel::ExprNode& e);
  void store(const kernel::StmtNode& stmt);
  llvm::Value* load_contiguous(const kernel::ExprNode& e);
  llvm::Value* load_lanes(const kernel::ExprNode& e);
  llvm::Value* load_every_second(const kernel::ExprNode& e);
  void store_lanes(const kernel::StmtNode& stmt, llvm::Value* value);
  llvm::Value* element_pointer(const kernel::Buffer& buffer, llvm::Value* index);
  llvm::Value* lane_indices(Expr index, int64_t stride, int lanes);
  llvm::Value* active_mask(Expr active, int lanes);
  llvm::Value* from_memory(DType dtype, llvm::Value* value);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);
  llvm::Align access_alignment(const kernel::Buffer& buffer, Expr index);
  template <class Instruction>
  Instruction* mark(Instruction* instruction, const kernel::Buffer& buffer);

  llvm::Type* type_of(kernel::Type type) { return register_type(context_, type); }
  llvm::Type* integer_type(int bits, int lanes);
  llvm::Type* float_type(int lanes);
  llvm::Constant* splat(llvm::Type* type, uint64_t value);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const kernel::Kernel& kernel_;
  const Target& target_;
  bool is_x86_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  llvm::AllocaInst* status_ = nullptr;
  llvm::DenseMap<const kernel::Variable*, llvm::Value*> values_;  // Let and loop variables
  llvm::DenseMap<const kernel::Variable*, llvm::AllocaInst*> registers_;
  llvm::DenseMap<const kernel::Variable*, int> factors_;  // known_factor of a variable's value
  llvm::DenseMap<const kernel::Buffer*, BufferState> buffers_;
  llvm::DenseMap<Expr, llvm::Value*> memo_;  // these two of the current statement
  llvm::DenseMap<Expr, int> factor_memo_;
};

}  // namespace tiffin::codegen
