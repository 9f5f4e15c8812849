// SPDX-License-Identifier: Apache-2.0
// The expressions of kernel IR, arithmetic, conversions and memory excepted.
#include <bit>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::codegen {

using kernel::BinaryOp;
using kernel::ExprKind;
using kernel::ExprNode;
using kernel::UnaryOp;

namespace {

llvm::Type* scalar_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return llvm::Type::getFloatTy(context);
    case DType::Float64:
      return llvm::Type::getDoubleTy(context);
    case DType::Bool:
      return llvm::Type::getInt1Ty(context);
    default:
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(dtype_bits(dtype)));
  }
}

llvm::Type* vector_of(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, kernel::Type type) { return vector_of(scalar_type(context, type.dtype), type.lanes); }

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, int lanes) {
  return vector_of(dtype == DType::Bool ? llvm::Type::getInt8Ty(context) : scalar_type(context, dtype), lanes);
}

llvm::Type* Emitter::integer_type(int bits, int lanes) { return vector_of(builder_.getIntNTy(static_cast<unsigned>(bits)), lanes); }
llvm::Type* Emitter::float_type(int lanes) { return vector_of(builder_.getFloatTy(), lanes); }
llvm::Constant* Emitter::splat(llvm::Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value, false, true); }

// A node with several users is computed once per statement: nothing changes memory or a register within one.
llvm::Value* Emitter::value_of(Expr expr) {
  if (const auto found = memo_.find(expr); found != memo_.end()) return found->second;
  llvm::Value* value = compute(*expr);
  memo_[expr] = value;
  return value;
}

llvm::Value* Emitter::compute(const ExprNode& e) {
  switch (e.kind) {
    case ExprKind::Const:
      return constant(e.type, e.int_value, e.float_value);
    case ExprKind::Var:
      return variable_value(*e.variable);
    case ExprKind::Load:
      return load(e);
    case ExprKind::Unary:
      if (e.unary == UnaryOp::ReduceAdd || e.unary == UnaryOp::ReduceMax || e.unary == UnaryOp::ReduceMin) return reduce(e);
      return unary(e.unary, e.a->type, value_of(e.a), e.type);
    case ExprKind::Binary: {
      llvm::Value* a = value_of(e.a);
      return binary(e.binary, e.a->type, a, value_of(e.b));
    }
    case ExprKind::Fma:
      return fma(e);
    case ExprKind::Select: {
      llvm::Value* condition = value_of(e.a);
      llvm::Value* yes = value_of(e.b);
      return builder_.CreateSelect(condition, yes, value_of(e.c));
    }
    case ExprKind::Cast:
      return cast(e.a->type, e.type, value_of(e.a));
    case ExprKind::Splat: {
      llvm::Value* value = value_of(e.a);
      return e.type.lanes == 1 ? value : builder_.CreateVectorSplat(e.type.lanes, value);
    }
    case ExprKind::Lanes:
      return lanes_of(value_of(e.a), e.int_value, e.type.lanes);
  }
  return nullptr;
}

llvm::Value* Emitter::variable_value(const kernel::Variable& variable) {
  if (!variable.is_register) return values_[&variable];
  return builder_.CreateLoad(type_of(variable.type), registers_[&variable], variable.name);
}

llvm::Constant* Emitter::constant(kernel::Type type, int64_t integer, double number) {
  llvm::Type* llvm_type = type_of(type);
  if (type.dtype == DType::Float32) return llvm::ConstantFP::get(llvm_type, llvm::APFloat(static_cast<float>(number)));
  if (type.dtype == DType::Float64) return llvm::ConstantFP::get(llvm_type, llvm::APFloat(number));
  return splat(llvm_type, is_standard_float(type.dtype) ? kernel::float_bits(type.dtype, number) : kernel::integer_bits(type.dtype, integer));
}

llvm::Value* Emitter::lanes_of(llvm::Value* first, int64_t step, int lanes) {
  if (lanes == 1) return first;
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(splat(first->getType(), static_cast<uint64_t>(i) * static_cast<uint64_t>(step)));
  return builder_.CreateAdd(builder_.CreateVectorSplat(static_cast<unsigned>(lanes), first), llvm::ConstantVector::get(steps));
}

llvm::Value* Emitter::reduce(const ExprNode& e) {
  const BinaryOp op = e.unary == UnaryOp::ReduceAdd ? BinaryOp::Add : e.unary == UnaryOp::ReduceMax ? BinaryOp::Max : BinaryOp::Min;
  llvm::Value* value = value_of(e.a);
  for (int half = e.a->type.lanes / 2; half >= 1; half /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(i + half);
    }
    const kernel::Type type{e.type.dtype, static_cast<uint16_t>(half)};
    if (half == 1) return binary(op, type, builder_.CreateExtractElement(value, uint64_t{0}), builder_.CreateExtractElement(value, uint64_t{1}));
    value = binary(op, type, builder_.CreateShuffleVector(value, low), builder_.CreateShuffleVector(value, high));
  }
  return value;
}

llvm::Value* Emitter::fma(const ExprNode& e) {
  llvm::Value* a = value_of(e.a);
  llvm::Value* b = value_of(e.b);
  llvm::Value* c = value_of(e.c);
  if (!kernel_.has_fma) return builder_.CreateFAdd(builder_.CreateFMul(a, b), c);
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

int Emitter::known_factor(Expr expr) {
  if (const auto found = factor_memo_.find(expr); found != factor_memo_.end()) return found->second;
  const int factor = compute_factor(expr);
  factor_memo_[expr] = factor;
  return factor;
}

int Emitter::compute_factor(Expr expr) {
  constexpr int kMost = 16;
  switch (expr->kind) {
    case ExprKind::Const:
      return std::min(kMost, std::countr_zero(static_cast<uint64_t>(expr->int_value)));
    case ExprKind::Var: {
      const auto found = factors_.find(expr->variable);
      return found == factors_.end() ? 0 : std::min(kMost, found->second);
    }
    case ExprKind::Binary:
      if (expr->binary == BinaryOp::Add || expr->binary == BinaryOp::Sub) return std::min(known_factor(expr->a), known_factor(expr->b));
      if (expr->binary == BinaryOp::Mul) return std::min(kMost, known_factor(expr->a) + known_factor(expr->b));
      return 0;
    default:
      return 0;
  }
}

}  // namespace tiffin::codegen
