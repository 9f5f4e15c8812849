// SPDX-License-Identifier: Apache-2.0
// The function, its buffers, and the statements of kernel IR.
#include <bit>

#include "abi/kernel.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::codegen {

using kernel::Buffer;
using kernel::BufferKind;
using kernel::StmtKind;
using kernel::StmtNode;

namespace {

int64_t bytes_of(const Buffer& buffer) { return buffer.size * kernel::element_bytes(buffer.dtype); }

// The plan may place an output on an input that dies there; it does so only where both have the same length.
bool may_overlap(const Buffer& a, const Buffer& b) {
  return a.kind == BufferKind::Parameter && b.kind == BufferKind::Parameter && a.is_output != b.is_output && bytes_of(a) == bytes_of(b);
}

}  // namespace

Emitter::Emitter(llvm::Module& module, const kernel::Kernel& kernel, const Target& target)
    : module_(module), context_(module.getContext()), kernel_(kernel), target_(target), is_x86_(target.elf_machine == 62), builder_(context_) {}

llvm::Function* Emitter::emit(const std::string& symbol) {
  llvm::Type* pointer = builder_.getPtrTy();
  llvm::Type* index = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, pointer, index, index}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function_->setDSOLocal(true);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  exit_ = llvm::BasicBlock::Create(context_, "exit", function_);
  status_ = builder_.CreateAlloca(builder_.getInt32Ty(), nullptr, "status");
  builder_.CreateStore(builder_.getInt32(TIFFIN_KERNEL_OK), status_);
  values_[kernel_.unit_begin] = function_->getArg(2);
  values_[kernel_.unit_end] = function_->getArg(3);
  bind_buffers();
  emit_block(kernel_.body);
  builder_.CreateBr(exit_);
  builder_.SetInsertPoint(exit_);
  builder_.CreateRet(builder_.CreateLoad(builder_.getInt32Ty(), status_));
  return function_;
}

void Emitter::bind_buffers() {
  std::vector<const Buffer*> all(kernel_.parameters());
  for (const Buffer* buffer : kernel_.parameters()) {
    llvm::Value* slot = builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), function_->getArg(0), static_cast<uint64_t>(buffer->index));
    llvm::LoadInst* base = builder_.CreateAlignedLoad(builder_.getPtrTy(), slot, llvm::Align(8), buffer->name);
    const auto number = [&](int64_t value) {
      return llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt64(static_cast<uint64_t>(value))));
    };
    base->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    base->setMetadata(llvm::LLVMContext::MD_align, number(TIFFIN_BUFFER_ALIGNMENT));
    if (buffer->size > 0) base->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(bytes_of(*buffer)));
    buffers_[buffer].pointer = base;
  }
  if (kernel_.scratch_bytes > 0) function_->addParamAttr(1, llvm::Attribute::getWithAlignment(context_, llvm::Align(TIFFIN_BUFFER_ALIGNMENT)));
  for (const Buffer* buffer : kernel_.scratch_buffers()) {
    buffers_[buffer].pointer =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), function_->getArg(1), static_cast<uint64_t>(buffer->offset), buffer->name);
    all.push_back(buffer);
  }
  bind_aliasing(all);
}

void Emitter::bind_local(const Buffer& buffer) {
  llvm::Type* element = memory_type(context_, buffer.dtype, 1);
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  llvm::AllocaInst* slot = entry.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(buffer.size)), nullptr, buffer.name);
  slot->setAlignment(llvm::Align(TIFFIN_BUFFER_ALIGNMENT));
  buffers_[&buffer].pointer = slot;
}

void Emitter::bind_aliasing(const std::vector<const Buffer*>& all) {
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("kernel");
  std::vector<llvm::Metadata*> scopes;
  for (const Buffer* buffer : all) {
    scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer->name));
    buffers_[buffer].scope = llvm::MDNode::get(context_, {scopes.back()});
  }
  for (const Buffer* buffer : all) {
    std::vector<llvm::Metadata*> others;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != buffer && !may_overlap(*all[i], *buffer)) others.push_back(scopes[i]);
    }
    if (!others.empty()) buffers_[buffer].noalias = llvm::MDNode::get(context_, others);
  }
}

void Emitter::emit_block(const std::vector<kernel::Stmt>& body) {
  for (const kernel::Stmt stmt : body) emit_statement(*stmt);
}

void Emitter::emit_statement(const StmtNode& stmt) {
  memo_.clear();
  factor_memo_.clear();
  switch (stmt.kind) {
    case StmtKind::Block:
      return emit_block(stmt.body);
    case StmtKind::For:
      return emit_loop(stmt);
    case StmtKind::If:
      return emit_if(stmt);
    case StmtKind::Let:
      values_[stmt.variable] = value_of(stmt.a);
      factors_[stmt.variable] = known_factor(stmt.a);
      return;
    case StmtKind::Register:
    case StmtKind::Set:
      return emit_register(stmt);
    case StmtKind::Store:
      return store(stmt);
    case StmtKind::Fail:
      return emit_fail(stmt);
  }
}

void Emitter::emit_loop(const StmtNode& stmt) {
  llvm::Value* begin = value_of(stmt.a);
  llvm::Value* end = value_of(stmt.b);
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first != nullptr && last != nullptr) {
    const int64_t from = first->getSExtValue(), to = last->getSExtValue();
    if (stmt.loop == kernel::LoopKind::Unrolled || from >= to || to - from <= stmt.step) return emit_unrolled(stmt, from, to);
  }
  factors_[stmt.variable] = std::min(known_factor(stmt.a), std::countr_zero(static_cast<uint64_t>(stmt.step)));
  // Tested once in front and then at the bottom, so that the body is one block and a loop-carried value one phi.
  auto* body = llvm::BasicBlock::Create(context_, stmt.variable->name, function_, exit_);
  auto* done = llvm::BasicBlock::Create(context_, stmt.variable->name + ".done", function_, exit_);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, done);
  builder_.SetInsertPoint(body);
  llvm::PHINode* variable = builder_.CreatePHI(builder_.getInt64Ty(), 2, stmt.variable->name);
  variable->addIncoming(begin, before);
  values_[stmt.variable] = variable;
  emit_block(stmt.body);
  llvm::Value* next = builder_.CreateAdd(variable, builder_.getInt64(static_cast<uint64_t>(stmt.step)));
  variable->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, done);
  builder_.SetInsertPoint(done);
}

void Emitter::emit_unrolled(const StmtNode& stmt, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += stmt.step) {
    values_[stmt.variable] = builder_.getInt64(static_cast<uint64_t>(i));
    factors_[stmt.variable] = std::countr_zero(static_cast<uint64_t>(i));
    emit_block(stmt.body);
  }
}

void Emitter::emit_if(const StmtNode& stmt) {
  llvm::Value* condition = value_of(stmt.a);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return emit_block(known->isZero() ? stmt.otherwise : stmt.body);
  auto* then = llvm::BasicBlock::Create(context_, "then", function_, exit_);
  auto* otherwise = llvm::BasicBlock::Create(context_, "else", function_, exit_);
  auto* done = llvm::BasicBlock::Create(context_, "done", function_, exit_);
  builder_.CreateCondBr(condition, then, otherwise);
  builder_.SetInsertPoint(then);
  emit_block(stmt.body);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(otherwise);
  emit_block(stmt.otherwise);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
}

// Registers are stack slots here; promotion turns them into values and phis.
void Emitter::emit_register(const StmtNode& stmt) {
  llvm::Value* value = value_of(stmt.a);
  llvm::AllocaInst*& slot = registers_[stmt.variable];
  if (slot == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    slot = entry.CreateAlloca(type_of(stmt.variable->type), nullptr, stmt.variable->name);
  }
  builder_.CreateStore(value, slot);
}

void Emitter::emit_fail(const StmtNode& stmt) {
  builder_.CreateStore(builder_.getInt32(static_cast<uint32_t>(stmt.failure)), status_);
  builder_.CreateBr(exit_);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "unreachable", function_, exit_));
}

}  // namespace tiffin::codegen
