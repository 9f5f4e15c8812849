// SPDX-License-Identifier: Apache-2.0
// Arithmetic with the semantics of compiler/kernel/scalar.h. Everything is straight-line code: an operation makes no block and calls no library.
#include "compiler/codegen/llvm/emitter.h"

namespace tiffin::codegen {

using kernel::BinaryOp;
using kernel::UnaryOp;

llvm::Value* Emitter::unary(UnaryOp op, kernel::Type type, llvm::Value* a, kernel::Type result) {
  const bool is_float = type.dtype == DType::Float32 || type.dtype == DType::Float64;
  const auto call = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case UnaryOp::Neg:
      return is_float ? builder_.CreateFNeg(a) : builder_.CreateNeg(a);
    case UnaryOp::Abs:
      if (is_float) return call(llvm::Intrinsic::fabs);
      return is_signed_int(type.dtype) ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse()) : a;
    case UnaryOp::Not:
      return builder_.CreateNot(a);
    case UnaryOp::Sqrt:
      return call(llvm::Intrinsic::sqrt);
    case UnaryOp::Floor:
      return call(llvm::Intrinsic::floor);
    case UnaryOp::Ceil:
      return call(llvm::Intrinsic::ceil);
    case UnaryOp::Trunc:
      return call(llvm::Intrinsic::trunc);
    case UnaryOp::RoundEven:
      return call(llvm::Intrinsic::roundeven);
    case UnaryOp::BitCast:
      return builder_.CreateBitCast(a, type_of(result));
    case UnaryOp::ReduceAdd:
    case UnaryOp::ReduceMax:
    case UnaryOp::ReduceMin:
      break;
  }
  return nullptr;
}

llvm::Value* Emitter::binary(BinaryOp op, kernel::Type type, llvm::Value* a, llvm::Value* b) {
  if (op == BinaryOp::Equal || op == BinaryOp::Less || op == BinaryOp::LessEqual) return compare(op, type, a, b);
  if (type.dtype == DType::Float32 || type.dtype == DType::Float64) return float_binary(op, a, b);
  return integer_binary(op, is_signed_int(type.dtype), a, b);
}

llvm::Value* Emitter::compare(BinaryOp op, kernel::Type type, llvm::Value* a, llvm::Value* b) {
  if (type.dtype == DType::Float32 || type.dtype == DType::Float64) {
    return op == BinaryOp::Equal ? builder_.CreateFCmpOEQ(a, b) : op == BinaryOp::Less ? builder_.CreateFCmpOLT(a, b) : builder_.CreateFCmpOLE(a, b);
  }
  if (op == BinaryOp::Equal) return builder_.CreateICmpEQ(a, b);
  if (is_signed_int(type.dtype)) return op == BinaryOp::Less ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpSLE(a, b);
  return op == BinaryOp::Less ? builder_.CreateICmpULT(a, b) : builder_.CreateICmpULE(a, b);
}

llvm::Value* Emitter::float_binary(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case BinaryOp::Add:
      return builder_.CreateFAdd(a, b);
    case BinaryOp::Sub:
      return builder_.CreateFSub(a, b);
    case BinaryOp::Mul:
      return builder_.CreateFMul(a, b);
    case BinaryOp::Div:
      return builder_.CreateFDiv(a, b);
    case BinaryOp::Mod:
      return float_remainder(a, b);
    case BinaryOp::Min:
    case BinaryOp::Max:
      return min_max(op == BinaryOp::Max, a, b);
    default:
      return nullptr;
  }
}

llvm::Value* Emitter::integer_binary(BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case BinaryOp::Add:
      return builder_.CreateAdd(a, b);
    case BinaryOp::Sub:
      return builder_.CreateSub(a, b);
    case BinaryOp::Mul:
      return builder_.CreateMul(a, b);
    case BinaryOp::Div:
    case BinaryOp::Mod:
      return divide(is_signed, op == BinaryOp::Mod, a, b);
    case BinaryOp::Min:
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case BinaryOp::Max:
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case BinaryOp::And:
      return builder_.CreateAnd(a, b);
    case BinaryOp::Or:
      return builder_.CreateOr(a, b);
    case BinaryOp::Xor:
      return builder_.CreateXor(a, b);
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return shift(op, is_signed, a, b);
    default:
      return nullptr;
  }
}

// a < b ? a : b and its mirror, exactly what minps and maxps compute: the second operand if either is NaN or both are zero.
llvm::Value* Emitter::ordered_min_max(bool is_max, llvm::Value* a, llvm::Value* b) {
  llvm::Value* condition = is_max ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  return builder_.CreateSelect(condition, a, b);
}

// On x86 the general intrinsic costs two blends more than this. With a constant c that is no NaN, maxps(c, x) keeps x's NaN; it is wrong only when
// c is the zero that must win (+0 for Max, -0 for Min). For Max, which is ReLU, adding +0 mends that: it changes -0 and nothing else.
llvm::Value* Emitter::min_max(bool is_max, llvm::Value* a, llvm::Value* b) {
  if (!is_x86_) return builder_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  if (llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  const llvm::APFloat* bound = nullptr;
  if (const auto* fixed = llvm::dyn_cast<llvm::Constant>(b)) {
    const auto* scalar = llvm::dyn_cast_or_null<llvm::ConstantFP>(fixed->getType()->isVectorTy() ? fixed->getSplatValue() : fixed);
    if (scalar != nullptr && !scalar->isNaN()) bound = &scalar->getValueAPF();
  }
  if (bound != nullptr) {
    llvm::Value* kept = ordered_min_max(is_max, b, a);
    if (is_max && bound->isPosZero()) return builder_.CreateFAdd(kept, llvm::ConstantFP::getZero(a->getType()));
    if (is_max || !bound->isNegZero()) return kept;
  }
  // Both orders differ only on zeros of two signs and on NaN. And makes +0 of the zeros, Or makes -0; Or of two orders with a NaN is a NaN.
  auto* integers = llvm::cast<llvm::Type>(a->getType()->getWithNewType(builder_.getIntNTy(a->getType()->getScalarSizeInBits())));
  llvm::Value* forward = builder_.CreateBitCast(ordered_min_max(is_max, a, b), integers);
  llvm::Value* backward = builder_.CreateBitCast(ordered_min_max(is_max, b, a), integers);
  if (!is_max) return builder_.CreateBitCast(builder_.CreateOr(forward, backward), a->getType());
  llvm::Value* larger = builder_.CreateAnd(forward, backward);
  llvm::Value* chosen = builder_.CreateSelect(builder_.CreateFCmpUNO(a, b), llvm::Constant::getAllOnesValue(integers), larger);
  return builder_.CreateBitCast(chosen, a->getType());
}

// The divisor is replaced by 1 where the instruction would trap: a zero divisor, and the one quotient that overflows (a / 1 has its bits).
llvm::Value* Emitter::divide(bool is_signed, bool wants_remainder, llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = b->getType();
  llvm::Value* is_zero = builder_.CreateICmpEQ(b, splat(type, 0));
  llvm::Value* traps = is_zero;
  if (is_signed) {
    const unsigned bits = type->getScalarSizeInBits();
    llvm::Value* is_least = builder_.CreateICmpEQ(a, llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits)));
    llvm::Value* is_minus_one = builder_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type));
    traps = builder_.CreateOr(is_zero, builder_.CreateAnd(is_least, is_minus_one));
  }
  llvm::Value* divisor = builder_.CreateSelect(traps, splat(type, 1), b);
  if (wants_remainder) return is_signed ? builder_.CreateSRem(a, divisor) : builder_.CreateURem(a, divisor);
  llvm::Value* quotient = is_signed ? builder_.CreateSDiv(a, divisor) : builder_.CreateUDiv(a, divisor);
  return builder_.CreateSelect(is_zero, splat(type, 0), quotient);
}

// LLVM leaves shifts by the width or more undefined.
llvm::Value* Emitter::shift(BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = a->getType();
  const unsigned bits = type->getScalarSizeInBits();
  if (op == BinaryOp::Shr && is_signed) {
    return builder_.CreateAShr(a, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, splat(type, bits - 1)));
  }
  llvm::Value* is_inside = builder_.CreateICmpULT(b, splat(type, bits));
  llvm::Value* amount = builder_.CreateSelect(is_inside, b, splat(type, 0));
  llvm::Value* shifted = op == BinaryOp::Shl ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
  return builder_.CreateSelect(is_inside, shifted, splat(type, 0));
}

llvm::Value* Emitter::float_remainder(llvm::Value* a, llvm::Value* b) {
  llvm::Function* function = remainder_function(a->getType()->getScalarType());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (vector == nullptr) return builder_.CreateCall(function, {a, b});
  llvm::Value* result = llvm::PoisonValue::get(a->getType());
  for (uint64_t i = 0; i < vector->getNumElements(); ++i) {
    llvm::Value* lane = builder_.CreateCall(function, {builder_.CreateExtractElement(a, i), builder_.CreateExtractElement(b, i)});
    result = builder_.CreateInsertElement(result, lane, i);
  }
  return result;
}

}  // namespace tiffin::codegen
