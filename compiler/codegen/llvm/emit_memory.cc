// SPDX-License-Identifier: Apache-2.0
// Loads and stores: contiguous, strided, gathered, with a number of active lanes.
#include "abi/kernel.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::codegen {

using kernel::Buffer;
using kernel::ExprNode;
using kernel::StmtNode;

template <class Instruction>
Instruction* Emitter::mark(Instruction* instruction, const Buffer& buffer) {
  const BufferState& state = buffers_[&buffer];
  if (state.scope != nullptr) instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, state.scope);
  if (state.noalias != nullptr) instruction->setMetadata(llvm::LLVMContext::MD_noalias, state.noalias);
  return instruction;
}

llvm::Value* Emitter::element_pointer(const Buffer& buffer, llvm::Value* index) {
  if (buffers_[&buffer].pointer == nullptr) bind_local(buffer);
  return builder_.CreateInBoundsGEP(memory_type(context_, buffer.dtype, 1), buffers_[&buffer].pointer, index);
}

llvm::Align Emitter::access_alignment(const Buffer& buffer, Expr index) {
  const uint64_t bytes = static_cast<uint64_t>(kernel::element_bytes(buffer.dtype)) << known_factor(index);
  return llvm::Align(std::min<uint64_t>(bytes, TIFFIN_BUFFER_ALIGNMENT));
}

llvm::Value* Emitter::from_memory(DType dtype, llvm::Value* value) {
  return dtype == DType::Bool ? builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())) : value;
}

llvm::Value* Emitter::to_memory(DType dtype, llvm::Value* value) {
  if (dtype != DType::Bool) return value;
  return builder_.CreateZExt(value, value->getType()->getWithNewType(builder_.getInt8Ty()));
}

// The element index of each lane.
llvm::Value* Emitter::lane_indices(Expr index, int64_t stride, int lanes) {
  llvm::Value* value = value_of(index);
  if (index->type.lanes == 1) return lanes_of(value, stride, lanes);
  llvm::Type* type = integer_type(64, lanes);
  return is_signed_int(index->type.dtype) ? builder_.CreateSExtOrTrunc(value, type) : builder_.CreateZExtOrTrunc(value, type);
}

// A vector even for one lane, as masked accesses want it.
llvm::Value* Emitter::active_mask(Expr active, int lanes) {
  llvm::Value* count = value_of(active);
  // Narrow lane numbers compare in few registers; the count is clamped into their range first.
  llvm::Value* clamped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, builder_.getInt64(static_cast<uint64_t>(lanes)));
  clamped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, clamped, builder_.getInt64(0));
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(builder_.getInt32(static_cast<uint32_t>(i)));
  llvm::Value* limit = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), builder_.CreateTrunc(clamped, builder_.getInt32Ty()));
  return builder_.CreateICmpULT(llvm::ConstantVector::get(numbers), limit);
}

llvm::Value* Emitter::load(const ExprNode& e) {
  const bool is_gather = e.a->type.lanes > 1;
  if (!is_gather && (e.stride == 1 || e.type.lanes == 1)) return load_contiguous(e);
  if (!is_gather && e.b == nullptr && e.stride == 0) {
    ExprNode one = e;
    one.type.lanes = 1;
    return builder_.CreateVectorSplat(e.type.lanes, load_contiguous(one));
  }
  if (!is_gather && e.b == nullptr && e.stride == 2) return load_every_second(e);
  return load_lanes(e);
}

llvm::Value* Emitter::load_contiguous(const ExprNode& e) {
  llvm::Value* pointer = element_pointer(*e.buffer, value_of(e.a));
  const llvm::Align alignment = access_alignment(*e.buffer, e.a);
  if (e.b == nullptr) {
    return from_memory(e.type.dtype,
                       mark(builder_.CreateAlignedLoad(memory_type(context_, e.type.dtype, e.type.lanes), pointer, alignment), *e.buffer));
  }
  llvm::Type* type = llvm::FixedVectorType::get(memory_type(context_, e.type.dtype, 1), e.type.lanes);
  llvm::Value* loaded =
      mark(builder_.CreateMaskedLoad(type, pointer, alignment, active_mask(e.b, e.type.lanes), llvm::Constant::getNullValue(type)), *e.buffer);
  if (e.type.lanes == 1) loaded = builder_.CreateExtractElement(loaded, uint64_t{0});
  return from_memory(e.type.dtype, loaded);
}

// Two vectors, the second ending at the last lane's element, so that nothing beyond it is touched.
llvm::Value* Emitter::load_every_second(const ExprNode& e) {
  const int lanes = e.type.lanes;
  llvm::Type* type = memory_type(context_, e.type.dtype, lanes);
  llvm::Value* index = value_of(e.a);
  llvm::Value* second_index = builder_.CreateAdd(index, builder_.getInt64(static_cast<uint64_t>(lanes - 1)));
  const llvm::Align element(static_cast<uint64_t>(kernel::element_bytes(e.type.dtype)));
  llvm::Value* first = mark(builder_.CreateAlignedLoad(type, element_pointer(*e.buffer, index), access_alignment(*e.buffer, e.a)), *e.buffer);
  llvm::Value* second = mark(builder_.CreateAlignedLoad(type, element_pointer(*e.buffer, second_index), element), *e.buffer);
  std::vector<int> chosen;
  for (int i = 0; i < lanes; ++i) chosen.push_back(2 * i < lanes ? 2 * i : 2 * i + 1);
  return from_memory(e.type.dtype, builder_.CreateShuffleVector(first, second, chosen));
}

llvm::Value* Emitter::load_lanes(const ExprNode& e) {
  const int lanes = e.type.lanes;
  const llvm::Align element(static_cast<uint64_t>(kernel::element_bytes(e.type.dtype)));
  llvm::Type* type = memory_type(context_, e.type.dtype, lanes);
  if (e.b != nullptr || e.a->type.lanes > 1) {
    // The back end chooses between gather instructions and one load per lane.
    llvm::Value* pointers = element_pointer(*e.buffer, lane_indices(e.a, e.stride, lanes));
    llvm::Value* mask = e.b == nullptr ? llvm::Constant::getAllOnesValue(integer_type(1, lanes)) : active_mask(e.b, lanes);
    return from_memory(e.type.dtype, mark(builder_.CreateMaskedGather(type, pointers, element, mask, llvm::Constant::getNullValue(type)), *e.buffer));
  }
  llvm::Value* base = element_pointer(*e.buffer, value_of(e.a));
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (int i = 0; i < lanes; ++i) {
    llvm::Value* pointer =
        builder_.CreateInBoundsGEP(memory_type(context_, e.type.dtype, 1), base, builder_.getInt64(static_cast<uint64_t>(i * e.stride)));
    llvm::Value* lane = mark(builder_.CreateAlignedLoad(memory_type(context_, e.type.dtype, 1), pointer, element), *e.buffer);
    result = builder_.CreateInsertElement(result, lane, static_cast<uint64_t>(i));
  }
  return from_memory(e.type.dtype, result);
}

void Emitter::store(const StmtNode& stmt) {
  const int lanes = stmt.b->type.lanes;
  llvm::Value* value = to_memory(stmt.buffer->dtype, value_of(stmt.b));
  if (stmt.a->type.lanes > 1 || (stmt.stride != 1 && lanes > 1)) return store_lanes(stmt, value);
  llvm::Value* pointer = element_pointer(*stmt.buffer, value_of(stmt.a));
  const llvm::Align alignment = access_alignment(*stmt.buffer, stmt.a);
  if (stmt.c == nullptr) {
    mark(builder_.CreateAlignedStore(value, pointer, alignment), *stmt.buffer);
    return;
  }
  if (lanes == 1) value = builder_.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), 1)), value, uint64_t{0});
  mark(builder_.CreateMaskedStore(value, pointer, alignment, active_mask(stmt.c, lanes)), *stmt.buffer);
}

// In the order of the lanes: where two lanes meet, the later one stays.
void Emitter::store_lanes(const StmtNode& stmt, llvm::Value* value) {
  const int lanes = stmt.b->type.lanes;
  const llvm::Align element(static_cast<uint64_t>(kernel::element_bytes(stmt.buffer->dtype)));
  if (stmt.c != nullptr) {
    llvm::Value* pointers = element_pointer(*stmt.buffer, lane_indices(stmt.a, stmt.stride, lanes));
    mark(builder_.CreateMaskedScatter(value, pointers, element, active_mask(stmt.c, lanes)), *stmt.buffer);
    return;
  }
  llvm::Value* indices = lane_indices(stmt.a, stmt.stride, lanes);
  llvm::Value* base = stmt.a->type.lanes == 1 ? element_pointer(*stmt.buffer, value_of(stmt.a)) : nullptr;
  for (int i = 0; i < lanes; ++i) {
    const auto lane = static_cast<uint64_t>(i);
    llvm::Type* type = memory_type(context_, stmt.buffer->dtype, 1);
    llvm::Value* pointer = base != nullptr ? builder_.CreateInBoundsGEP(type, base, builder_.getInt64(static_cast<uint64_t>(i * stmt.stride)))
                                           : element_pointer(*stmt.buffer, builder_.CreateExtractElement(indices, lane));
    mark(builder_.CreateAlignedStore(builder_.CreateExtractElement(value, lane), pointer, element), *stmt.buffer);
  }
}

}  // namespace tiffin::codegen
