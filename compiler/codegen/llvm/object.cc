// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/object.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "abi/artifact.h"
#include "abi/version.h"
#include "compiler/codegen/llvm/emitter.h"

namespace tiffin::codegen {
namespace {

constexpr const char* kHeaderSymbol = "tiffin_artifact_header";

bool is_x86(const Target& target) { return target.elf_machine == 62; }

// Instructions come from the allowed features alone, on top of a baseline CPU; the named CPU decides only what is preferred among them.
void set_attributes(llvm::Function& function, const Target& target, bool is_baseline) {
  std::string features;
  for (const std::string& feature : target.features) features += (features.empty() ? "+" : ",+") + feature;
  function.addFnAttr("target-cpu", is_x86(target) ? "x86-64" : "generic");
  if (!is_baseline) {
    function.addFnAttr("tune-cpu", target.cpu);
    function.addFnAttr("target-features", features);
    const std::string width = std::to_string(target.machine.vector_bytes * 8);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
  function.addFnAttr("no-builtins");
  function.addFnAttr("frame-pointer", "none");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const Target& target, bool optimise) {
  std::string message;
  const llvm::Triple triple(target.triple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
  if (found == nullptr) return error(Code::UnsupportedTarget, "triple '%s': %s", target.triple.c_str(), message.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // FMA only where the kernel says so
  options.EmitAddrsig = false;
  const auto level = optimise ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, is_x86(target) ? "x86-64" : "generic", "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  if (machine == nullptr) return error(Code::UnsupportedTarget, "LLVM cannot generate code for '%s'", target.triple.c_str());
  return machine;
}

// Promotes registers and small local buffers, and cleans up after the emitter. No loop pass: kernels come vectorised and unrolled.
void simplify(llvm::Module& module, llvm::TargetMachine& machine, bool optimise) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  if (optimise) {
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::SimplifyCFGPass());
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

Result<ObjectBytes> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return error(Code::Internal, "LLVM cannot write objects for '%s'", module.getTargetTriple().str().c_str());
  }
  passes.run(module);
  return ObjectBytes(bytes.begin(), bytes.end());
}

void set_up(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
}

Status check(const llvm::Module& module, const char* name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream)) return error(Code::Internal, "kernel '%s' gives invalid LLVM IR: %s", name, text.c_str());
  return {};
}

}  // namespace

Status prepare_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  // Loop strength reduction is most of the code generation time of unrolled tiles and makes none of them faster.
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  if (found == options.end()) return error(Code::Internal, "LLVM has no option 'disable-lsr'");
  static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
  return {};
}

Result<ObjectBytes> compile_object(const kernel::Kernel& kernel, const std::string& symbol, const Target& target, bool optimise, std::string* ir) {
  TIFFIN_ASSIGN_OR_RETURN(const std::unique_ptr<llvm::TargetMachine> machine, create_machine(target, optimise));
  llvm::LLVMContext context;
  llvm::Module module(symbol, context);
  set_up(module, *machine);
  Emitter(module, kernel, target).emit(symbol);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) set_attributes(function, target, false);
  }
  TIFFIN_TRY(check(module, kernel.name.c_str()));
  simplify(module, *machine, optimise);
  if (ir != nullptr) {
    llvm::raw_string_ostream stream(*ir);
    module.print(stream, nullptr);
  }
  return emit_object(module, *machine);
}

Result<ObjectBytes> compile_query(const Target& target) {
  TIFFIN_ASSIGN_OR_RETURN(const std::unique_ptr<llvm::TargetMachine> machine, create_machine(target, true));
  llvm::LLVMContext context;
  llvm::Module module(TIFFIN_QUERY_SYMBOL, context);
  set_up(module, *machine);
  llvm::IRBuilder<> builder(context);
  auto* header = new llvm::GlobalVariable(module, builder.getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr, kHeaderSymbol);
  header->setVisibility(llvm::GlobalValue::HiddenVisibility);
  header->setDSOLocal(true);
  auto* type = llvm::FunctionType::get(builder.getPtrTy(), {builder.getInt32Ty()}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, TIFFIN_QUERY_SYMBOL, module);
  set_attributes(*function, target, true);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* is_ours = builder.CreateICmpEQ(function->getArg(0), builder.getInt32(TIFFIN_ABI_VERSION));
  builder.CreateRet(builder.CreateSelect(is_ours, header, llvm::ConstantPointerNull::get(builder.getPtrTy())));
  TIFFIN_TRY(check(module, TIFFIN_QUERY_SYMBOL));
  return emit_object(module, *machine);
}

}  // namespace tiffin::codegen
