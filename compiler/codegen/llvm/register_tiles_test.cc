// SPDX-License-Identifier: Apache-2.0
// Register tiles fit the registers: the loops that multiply and add spill nothing to the stack. LLVM's scheduler still spills in long unrolled code
// (tiles at an image's sides, tiles that fill AVX-512's registers); how much is bounded here, so that it does not grow unseen.
#include <gtest/gtest.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <climits>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/graph/parser.h"
#include "compiler/kernel/lower.h"
#include "compiler/ops/infer.h"

extern "C" {
void LLVMInitializeX86Disassembler(void);
void LLVMInitializeAArch64Disassembler(void);
}

namespace tiffin::codegen {
namespace {

struct Instruction {
  uint64_t address = 0;
  bool multiplies_and_adds = false;
  bool stores_to_stack = false;
  std::string name;
};

// From the target of a backward branch to the branch.
struct Loop {
  uint64_t first = 0, last = 0;
};

struct Listing {
  std::vector<Instruction> instructions;
  std::vector<Loop> loops;
};

// Reads one function's machine code with LLVM's disassembler.
class Reader {
 public:
  explicit Reader(const Target& target) : triple_(target.triple) {
    LLVMInitializeX86Disassembler();
    LLVMInitializeAArch64Disassembler();
    std::string message, features;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple_, message);
    for (const std::string& feature : target.features) features += (features.empty() ? "+" : ",+") + feature;
    registers_.reset(found->createMCRegInfo(triple_));
    assembly_.reset(found->createMCAsmInfo(*registers_, triple_, {}));
    subtarget_.reset(found->createMCSubtargetInfo(triple_, target.elf_machine == 62 ? "x86-64" : "generic", features));
    instructions_.reset(found->createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(triple_, assembly_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(found->createMCDisassembler(*subtarget_, *context_));
    analysis_.reset(found->createMCInstrAnalysis(instructions_.get()));
  }

  Listing read(std::span<const uint8_t> code) const {
    Listing listing;
    uint64_t size = 0;
    for (uint64_t at = 0; at < code.size(); at += size) {
      llvm::MCInst instruction;
      const llvm::ArrayRef<uint8_t> rest(code.data() + at, code.size() - at);
      if (disassembler_->getInstruction(instruction, size, rest, at, llvm::nulls()) != llvm::MCDisassembler::Success) {
        ADD_FAILURE() << "an instruction at " << at << " of " << code.size() << " cannot be read";
        break;
      }
      const llvm::MCInstrDesc& described = instructions_->get(instruction.getOpcode());
      const llvm::StringRef name = instructions_->getName(instruction.getOpcode());
      const bool is_spill = described.mayStore() && !described.isCall() && !name.starts_with("PUSH") && reads_stack_pointer(instruction);
      listing.instructions.push_back({at, name.starts_with("VFMADD") || name.starts_with("FMLA"), is_spill, name.str()});
      uint64_t destination = 0;
      if (!described.isBranch() || !analysis_->evaluateBranch(instruction, at, size, destination)) continue;
      if (destination <= at) listing.loops.push_back({destination, at});
    }
    return listing;
  }

 private:
  bool reads_stack_pointer(const llvm::MCInst& instruction) const {
    for (const llvm::MCOperand& operand : instruction) {
      if (!operand.isReg()) continue;
      const llvm::StringRef name = registers_->getName(operand.getReg());
      if (name == "RSP" || name == "SP") return true;
    }
    return false;
  }

  llvm::Triple triple_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
};

bool is_innermost(const Loop& loop, const std::vector<Loop>& loops) {
  for (const Loop& other : loops) {
    const bool is_inside = other.first >= loop.first && other.last <= loop.last;
    if (is_inside && (other.first != loop.first || other.last != loop.last)) return false;
  }
  return true;
}

struct Count {
  int loops = 0;                // innermost ones that multiply and add
  int most_fmas = 0;            // in one of them
  int fewest_stores = INT_MAX;  // in one of them, to the stack
  int stack_stores = 0;         // in all of them
  std::string spills;           // where and which
};

Count count(const Listing& listing) {
  Count result;
  for (const Loop& loop : listing.loops) {
    if (!is_innermost(loop, listing.loops)) continue;
    int fmas = 0, stores = 0;
    for (const Instruction& instruction : listing.instructions) {
      if (instruction.address < loop.first || instruction.address > loop.last) continue;
      fmas += instruction.multiplies_and_adds;
      stores += instruction.stores_to_stack;
      if (instruction.stores_to_stack && result.spills.size() < 2000)
        result.spills += " " + std::to_string(instruction.address) + ":" + instruction.name;
    }
    result.spills += " | loop " + std::to_string(loop.first) + "-" + std::to_string(loop.last) + " " + std::to_string(fmas);
    if (fmas == 0) continue;
    ++result.loops;
    result.most_fmas = std::max(result.most_fmas, fmas);
    result.fewest_stores = std::min(result.fewest_stores, stores);
    result.stack_stores += stores;
  }
  return result;
}

// The one node of a graph, compiled.
Count count_spills(const std::string& text, const Target& target) {
  Result<graph::Graph> graph = graph::parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << (graph.has_value() ? "" : graph.error().message());
  if (!graph.has_value()) return {};
  const Status inferred = ops::infer_types(*graph);
  EXPECT_TRUE(inferred.is_ok()) << inferred.message();
  auto lowered = kernel::lower_group(*graph, graph->topological_order(), {.machine = target.machine});
  EXPECT_TRUE(lowered.has_value()) << (lowered.has_value() ? "" : lowered.error().message());
  if (!lowered.has_value()) return {};
  const kernel::Kernel* kernels[] = {lowered->kernel.get()};
  const Result<CodeBlob> blob = compile_kernels(kernels, target, {});
  EXPECT_TRUE(blob.has_value()) << (blob.has_value() ? "" : blob.error().message());
  if (!blob.has_value()) return {};
  const CodeBlob::Function& function = blob->functions[0];
  return count(Reader(target).read(std::span(blob->bytes).subspan(function.offset, function.size)));
}

struct Bound {
  const char* target;
  int matmul, convolution, depthwise;  // most stores to the stack in all loops of a kernel
};

class RegisterTiles : public testing::TestWithParam<Bound> {
 protected:
  void expect_few_spills(const std::string& text, int most_stores) const {
    const Result<Target> target = parse_target(GetParam().target);
    ASSERT_TRUE(target.has_value());
    const Count counted = count_spills(text, *target);
    EXPECT_GE(counted.loops, 1);
    EXPECT_GE(counted.most_fmas, 8);
    EXPECT_EQ(counted.fewest_stores, 0) << counted.spills;
    EXPECT_LE(counted.stack_stores, most_stores) << counted.spills;
  }

  std::string block() const { return std::to_string(parse_target(GetParam().target)->machine.channel_block()); }
  std::string blocks(int channels) const { return std::to_string(channels / parse_target(GetParam().target)->machine.channel_block()); }
};

TEST_P(RegisterTiles, matmul_hardly_spills) {
  expect_few_spills(R"(graph "g" {
    input %x: float32[61,96]
    input %p: float32[6,96,16]
    %y = PackedMatMul(%x, %p) {n=93}
    output %y
  })",
                    GetParam().matmul);
}

TEST_P(RegisterTiles, convolution_hardly_spills) {
  for (const char* window : {"1", "3"}) {
    for (const char* stride : {"1", "2"}) {
      const std::string kernel = std::string(window) + ", " + window, pad = window[0] == '3' ? "1" : "0";
      expect_few_spills("graph \"g\" { input %x: float32[1," + blocks(64) + ",9,61," + block() + "] input %p: float32[6," + window + "," + window +
                            ",64,16] %y = BlockedConv(%x, %p) {kernel_shape=[" + kernel + "], strides=[" + stride + ", " + stride + "], pads=[" +
                            pad + ", " + pad + ", " + pad + ", " + pad + "], channels=96, block=" + block() + "} output %y }",
                        GetParam().convolution);
    }
  }
}

TEST_P(RegisterTiles, depthwise_hardly_spills) {
  for (const char* stride : {"1", "2"}) {
    expect_few_spills("graph \"g\" { input %x: float32[1," + blocks(64) + ",9,61," + block() +
                          "] input %p: float32[4,3,3,16] %y = BlockedDepthwiseConv(%x, %p) {kernel_shape=[3, 3], strides=[" + stride + ", " + stride +
                          "], pads=[1, 1, 1, 1], channels=64, block=" + block() + "} output %y }",
                      GetParam().depthwise);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RegisterTiles,
                         testing::Values(Bound{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3", 0, 111, 1},
                                         Bound{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", 19, 690, 0},
                                         Bound{"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", 0, 163, 0}),
                         [](const auto& one) { return "target" + std::to_string(one.index); });

}  // namespace
}  // namespace tiffin::codegen
