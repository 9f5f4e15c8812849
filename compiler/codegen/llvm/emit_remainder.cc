// SPDX-License-Identifier: Apache-2.0
// The floating remainder (C's fmod) as a function of the kernel's own module: exact, in integers, without a library.
#include "compiler/codegen/llvm/emitter.h"

namespace tiffin::codegen {
namespace {

// Emits fmod of two magnitudes given as integers; see Emitter::remainder_function for the method.
class RemainderEmitter {
 public:
  RemainderEmitter(llvm::Function* function, llvm::Type* type)
      : function_(function),
        builder_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        type_(type),
        bits_(type->getScalarSizeInBits()),
        mantissa_bits_(bits_ == 32 ? 23 : 52),
        wide_(builder_.getInt64Ty()) {}

  void emit() {
    llvm::Value* x = magnitude(function_->getArg(0));
    llvm::Value* y = magnitude(function_->getArg(1));
    const uint64_t infinity = bits_ == 32 ? uint64_t{0x7F800000} : uint64_t{0x7FF0000000000000};
    auto* invalid = block("invalid");
    auto* valid = block("valid");
    llvm::Value* is_invalid = builder_.CreateOr(builder_.CreateICmpUGE(x, word(infinity)),
                                                builder_.CreateOr(builder_.CreateICmpUGT(y, word(infinity)), builder_.CreateICmpEQ(y, word(0))));
    builder_.CreateCondBr(is_invalid, invalid, valid);
    builder_.SetInsertPoint(invalid);
    builder_.CreateRet(llvm::ConstantFP::getNaN(type_));
    builder_.SetInsertPoint(valid);
    auto* small = block("small");
    auto* reduce = block("reduce");
    builder_.CreateCondBr(builder_.CreateICmpULT(x, y), small, reduce);
    builder_.SetInsertPoint(small);
    builder_.CreateRet(function_->getArg(0));
    builder_.SetInsertPoint(reduce);
    finish(remainder(x, y), exponent(y));
  }

 private:
  llvm::Value* magnitude(llvm::Value* value) {
    llvm::Value* bits = builder_.CreateZExt(builder_.CreateBitCast(value, builder_.getIntNTy(bits_)), wide_);
    return builder_.CreateAnd(bits, word((uint64_t{1} << (bits_ - 1)) - 1));
  }

  // Of subnormals it is 1, and their significand has no hidden bit: value = significand * 2^(exponent - bias).
  llvm::Value* exponent(llvm::Value* magnitude) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, builder_.CreateLShr(magnitude, word(mantissa_bits_)), word(1));
  }

  llvm::Value* significand(llvm::Value* magnitude) {
    llvm::Value* fraction = builder_.CreateAnd(magnitude, word((uint64_t{1} << mantissa_bits_) - 1));
    llvm::Value* is_normal = builder_.CreateICmpUGE(magnitude, word(uint64_t{1} << mantissa_bits_));
    return builder_.CreateOr(fraction, builder_.CreateSelect(is_normal, word(uint64_t{1} << mantissa_bits_), word(0)));
  }

  // x's significand times 2^(difference of the exponents), modulo y's: as many bits per division as fit into 64.
  llvm::Value* remainder(llvm::Value* x, llvm::Value* y) {
    llvm::Value* divisor = significand(y);
    llvm::Value* first = builder_.CreateURem(significand(x), divisor);
    llvm::Value* difference = builder_.CreateSub(exponent(x), exponent(y));
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* loop = block("loop");
    auto* done = block("done");
    builder_.CreateCondBr(builder_.CreateICmpEQ(difference, word(0)), done, loop);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* rest = builder_.CreatePHI(wide_, 2);
    llvm::PHINode* left = builder_.CreatePHI(wide_, 2);
    llvm::Value* step = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, word(63 - mantissa_bits_));
    llvm::Value* next = builder_.CreateURem(builder_.CreateShl(rest, step), divisor);
    llvm::Value* still = builder_.CreateSub(left, step);
    rest->addIncoming(first, before);
    rest->addIncoming(next, loop);
    left->addIncoming(difference, before);
    left->addIncoming(still, loop);
    builder_.CreateCondBr(builder_.CreateICmpEQ(still, word(0)), done, loop);
    builder_.SetInsertPoint(done);
    llvm::PHINode* result = builder_.CreatePHI(wide_, 2);
    result->addIncoming(first, before);
    result->addIncoming(next, loop);
    return result;
  }

  // Normalises rest * 2^(exponent - bias) and returns it with x's sign.
  void finish(llvm::Value* rest, llvm::Value* exponent_of_rest) {
    llvm::Value* zeros = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, rest, builder_.getFalse());
    llvm::Value* wanted = builder_.CreateSub(zeros, word(63 - mantissa_bits_));
    llvm::Value* possible = builder_.CreateSub(exponent_of_rest, word(1));
    llvm::Value* amount = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wanted, possible);
    llvm::Value* biased = builder_.CreateShl(builder_.CreateSub(possible, amount), word(mantissa_bits_));
    llvm::Value* bits = builder_.CreateAdd(builder_.CreateShl(rest, amount), biased);
    bits = builder_.CreateSelect(builder_.CreateICmpEQ(rest, word(0)), word(0), bits);
    llvm::Type* narrow = builder_.getIntNTy(bits_);
    llvm::Value* sign =
        builder_.CreateAnd(builder_.CreateBitCast(function_->getArg(0), narrow), llvm::ConstantInt::get(narrow, uint64_t{1} << (bits_ - 1)));
    builder_.CreateRet(builder_.CreateBitCast(builder_.CreateOr(builder_.CreateTrunc(bits, narrow), sign), type_));
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(function_->getContext(), name, function_); }
  llvm::Constant* word(uint64_t value) { return llvm::ConstantInt::get(wide_, value); }

  llvm::Function* function_;
  llvm::IRBuilder<> builder_;
  llvm::Type* type_;
  unsigned bits_;
  uint64_t mantissa_bits_;
  llvm::Type* wide_;
};

}  // namespace

// With y's exponent ey and x's ex >= ey, x mod y = (mx * 2^(ex-ey) mod my) * 2^ey; the product is reduced a few bits at a time.
llvm::Function* Emitter::remainder_function(llvm::Type* type) {
  const char* name = type->isFloatTy() ? "tiffin_remainder_f32" : "tiffin_remainder_f64";
  if (llvm::Function* existing = module_.getFunction(name)) return existing;
  auto* signature = llvm::FunctionType::get(type, {type, type}, false);
  llvm::Function* function = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoInline);
  RemainderEmitter(function, type).emit();
  return function;
}

}  // namespace tiffin::codegen
