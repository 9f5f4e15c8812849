// SPDX-License-Identifier: Apache-2.0
// Conversions between element types. 16-bit floats are i16 in registers; without conversion instructions they are converted in integers.
#include <cmath>

#include "compiler/codegen/llvm/emitter.h"

namespace tiffin::codegen {

llvm::Value* Emitter::cast(kernel::Type from, kernel::Type to, llvm::Value* value) {
  const DType source = from.dtype, target = to.dtype;
  const int lanes = to.lanes;
  llvm::Type* type = type_of(to);
  if (source == target) return value;
  if (is_standard_float(source)) {
    if (is_standard_float(target)) return cast_float(source, target, value, lanes);
    if (source == DType::Float16 || source == DType::BFloat16) value = cast_float(source, DType::Float32, value, lanes);
    if (target == DType::Bool) return builder_.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()));
    if (is_x86_ && lanes > 1 && dtype_bits(target) <= 32) return saturate_vector(target, value, lanes);
    const auto id = is_signed_int(target) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  const bool is_signed = is_signed_int(source);
  if (is_standard_float(target)) {
    llvm::Type* middle = target == DType::Float64 ? type : float_type(lanes);
    value = is_signed ? builder_.CreateSIToFP(value, middle) : builder_.CreateUIToFP(value, middle);
    return target == DType::Float64 ? value : cast_float(DType::Float32, target, value, lanes);
  }
  if (target == DType::Bool) return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return is_signed ? builder_.CreateSExtOrTrunc(value, type) : builder_.CreateZExtOrTrunc(value, type);
}

// The saturating intrinsics become one scalar conversion per lane on x86; here the value is clamped as a float first, where that is exact.
llvm::Value* Emitter::saturate_vector(DType target, llvm::Value* value, int lanes) {
  llvm::Type* type = value->getType();
  const bool is_signed = is_signed_int(target), is_double = type->getScalarType()->isDoubleTy();
  const int bits = dtype_bits(target);
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0, beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const auto number = [&](double n) { return llvm::ConstantFP::get(type, n); };
  llvm::Type* wide = integer_type(32, lanes);
  // maxps gives its second operand for NaN: for unsigned types that is the 0 it must become.
  llvm::Value* clamped = ordered_min_max(true, value, number(low));
  const bool is_exact = bits < 32 || is_double;  // the largest result is a value of the float type
  if (is_exact) clamped = ordered_min_max(false, clamped, number(beyond - 1));
  llvm::Value* result = is_signed || bits < 32 ? builder_.CreateFPToSI(clamped, wide) : builder_.CreateFPToUI(clamped, wide);
  if (!is_exact) {
    const uint64_t largest = is_signed ? 0x7FFFFFFFu : 0xFFFFFFFFu;
    result = builder_.CreateSelect(builder_.CreateFCmpOGE(value, number(beyond)), splat(wide, largest), result);
  }
  if (is_signed) result = builder_.CreateSelect(builder_.CreateFCmpORD(value, value), result, splat(wide, 0));
  return builder_.CreateTrunc(result, integer_type(bits, lanes));
}

llvm::Value* Emitter::cast_float(DType from, DType to, llvm::Value* value, int lanes) {
  if (from == to) return value;
  if (from == DType::Float16) value = widen_half(value, lanes);
  if (from == DType::BFloat16) {
    llvm::Type* wide = integer_type(32, lanes);
    value = builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(value, wide), splat(wide, 16)), float_type(lanes));
  }
  const bool is_narrow = to == DType::Float16 || to == DType::BFloat16;
  if (from == DType::Float64) value = is_narrow ? narrow_to_odd(value, lanes) : builder_.CreateFPTrunc(value, float_type(lanes));
  if (to == DType::Float64) return builder_.CreateFPExt(value, type_of({DType::Float64, static_cast<uint16_t>(lanes)}));
  if (to == DType::Float16) return narrow_to_half(value, lanes);
  return to == DType::BFloat16 ? narrow_to_bfloat(value, lanes) : value;
}

llvm::Value* Emitter::widen_half(llvm::Value* half, int lanes) {
  if (target_.machine.has_f16c) {
    llvm::Type* type = lanes == 1 ? builder_.getHalfTy() : llvm::FixedVectorType::get(builder_.getHalfTy(), static_cast<unsigned>(lanes));
    return builder_.CreateFPExt(builder_.CreateBitCast(half, type), float_type(lanes));
  }
  llvm::Type* wide = integer_type(32, lanes);
  llvm::Type* type = float_type(lanes);
  const auto number = [&](uint64_t value) { return splat(wide, value); };
  llvm::Value* bits = builder_.CreateZExt(half, wide);
  llvm::Value* sign = builder_.CreateShl(builder_.CreateAnd(bits, number(0x8000)), number(16));
  llvm::Value* magnitude = builder_.CreateAnd(bits, number(0x7FFF));
  llvm::Value* is_special = builder_.CreateICmpUGE(magnitude, number(0x7C00));
  llvm::Value* bias = builder_.CreateSelect(is_special, number(224u << 23), number(112u << 23));
  llvm::Value* normal = builder_.CreateAdd(builder_.CreateShl(magnitude, number(13)), bias);
  // Signed conversion: the magnitude is small, and SSE has no unsigned one.
  llvm::Value* subnormal = builder_.CreateFMul(builder_.CreateSIToFP(magnitude, type), llvm::ConstantFP::get(type, 0x1p-24));
  llvm::Value* is_subnormal = builder_.CreateICmpULT(magnitude, number(0x400));
  llvm::Value* joined = builder_.CreateSelect(is_subnormal, builder_.CreateBitCast(subnormal, wide), normal);
  return builder_.CreateBitCast(builder_.CreateOr(joined, sign), type);
}

llvm::Value* Emitter::narrow_to_half(llvm::Value* value, int lanes) {
  if (target_.machine.has_f16c) {
    llvm::Type* type = lanes == 1 ? builder_.getHalfTy() : llvm::FixedVectorType::get(builder_.getHalfTy(), static_cast<unsigned>(lanes));
    return builder_.CreateBitCast(builder_.CreateFPTrunc(value, type), integer_type(16, lanes));
  }
  llvm::Type* wide = integer_type(32, lanes);
  llvm::Type* type = float_type(lanes);
  const auto number = [&](uint64_t n) { return splat(wide, n); };
  llvm::Value* bits = builder_.CreateBitCast(value, wide);
  llvm::Value* sign = builder_.CreateAnd(builder_.CreateLShr(bits, number(16)), number(0x8000));
  llvm::Value* magnitude = builder_.CreateAnd(bits, number(0x7FFFFFFF));
  // Subnormal results: the unit of 0.5's last place is the least float16, so the addition rounds as needed.
  llvm::Value* shifted = builder_.CreateFAdd(builder_.CreateBitCast(magnitude, type), llvm::ConstantFP::get(type, 0.5));
  llvm::Value* subnormal = builder_.CreateSub(builder_.CreateBitCast(shifted, wide), number(0x3F000000));
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, number(13)), number(1));
  llvm::Value* rounded = builder_.CreateAdd(builder_.CreateAdd(magnitude, number(0xFFFu - (112u << 23))), odd);
  llvm::Value* result = builder_.CreateLShr(rounded, number(13));
  result = builder_.CreateSelect(builder_.CreateICmpULT(magnitude, number(0x38800000)), subnormal, result);
  result = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, number(0x47800000)), number(0x7C00), result);
  result = builder_.CreateSelect(builder_.CreateICmpUGT(magnitude, number(0x7F800000)), number(0x7E00), result);
  return builder_.CreateTrunc(builder_.CreateOr(result, sign), integer_type(16, lanes));
}

llvm::Value* Emitter::narrow_to_bfloat(llvm::Value* value, int lanes) {
  llvm::Type* wide = integer_type(32, lanes);
  const auto number = [&](uint64_t n) { return splat(wide, n); };
  llvm::Value* bits = builder_.CreateBitCast(value, wide);
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, number(16)), number(1));
  llvm::Value* rounded = builder_.CreateAdd(builder_.CreateAdd(bits, number(0x7FFF)), odd);
  llvm::Value* quiet = builder_.CreateOr(bits, number(0x400000));
  llvm::Value* chosen = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, rounded);
  return builder_.CreateTrunc(builder_.CreateLShr(chosen, number(16)), integer_type(16, lanes));
}

// Float64 to Float32 rounded to odd, so that the rounding to 16 bits that follows is the only one (Boldo and Melquiond, 2008).
llvm::Value* Emitter::narrow_to_odd(llvm::Value* value, int lanes) {
  llvm::Type* wide = integer_type(32, lanes);
  llvm::Value* nearest = builder_.CreateFPTrunc(value, float_type(lanes));
  llvm::Value* back = builder_.CreateFPExt(nearest, value->getType());
  llvm::Value* bits = builder_.CreateBitCast(nearest, wide);
  llvm::Value* is_even = builder_.CreateICmpEQ(builder_.CreateAnd(bits, splat(wide, 1)), splat(wide, 0));
  llvm::Value* must_move = builder_.CreateAnd(builder_.CreateFCmpONE(back, value), is_even);
  llvm::Value* is_above =
      builder_.CreateFCmpOGT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* step = builder_.CreateSelect(is_above, llvm::Constant::getAllOnesValue(wide), splat(wide, 1));
  llvm::Value* moved = builder_.CreateAdd(bits, builder_.CreateSelect(must_move, step, splat(wide, 0)));
  return builder_.CreateBitCast(moved, float_type(lanes));
}

}  // namespace tiffin::codegen
