// SPDX-License-Identifier: Apache-2.0
// Compiled code against the interpreter: every operation on every type and lane count.
#include "compiler/codegen/llvm/compile.h"

#include <gtest/gtest.h>

#include <cstring>

#include "abi/artifact.h"
#include "abi/version.h"
#include "compiler/codegen/llvm/kernel_sketch.h"
#include "compiler/codegen/llvm/loaded_blob.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/verifier.h"

namespace tiffin::codegen {
namespace {

constexpr DType kTypes[] = {DType::Bool,  DType::Int8,   DType::UInt8,   DType::Int16,   DType::UInt16,  DType::Int32,   DType::UInt32,
                            DType::Int64, DType::UInt64, DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};
constexpr int kLanes[] = {1, 4, 8, 32};
constexpr UnaryOp kUnary[] = {UnaryOp::Neg,   UnaryOp::Abs,       UnaryOp::Not,       UnaryOp::Sqrt,      UnaryOp::Floor,    UnaryOp::Ceil,
                              UnaryOp::Trunc, UnaryOp::RoundEven, UnaryOp::ReduceAdd, UnaryOp::ReduceMax, UnaryOp::ReduceMin};
constexpr BinaryOp kBinary[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,   BinaryOp::Div,  BinaryOp::Mod,
                                BinaryOp::Min, BinaryOp::Max, BinaryOp::And,   BinaryOp::Or,   BinaryOp::Xor,
                                BinaryOp::Shl, BinaryOp::Shr, BinaryOp::Equal, BinaryOp::Less, BinaryOp::LessEqual};
constexpr int64_t kElements = 512;

using Kernels = std::vector<std::unique_ptr<Kernel>>;

// y[i] = value(x[i], w[i], z[i]), a unit being one vector. Kernels that the verifier refuses do not exist for that type.
template <class F>
void add_kernel(Kernels& kernels, const std::string& name, DType dtype, int lanes, F value) {
  Sketch s(name);
  const kernel::Buffer* x = s.kernel().add_parameter("x", dtype, kElements, false);
  const kernel::Buffer* w = s.kernel().add_parameter("w", dtype, kElements, false);
  const kernel::Buffer* z = s.kernel().add_parameter("z", dtype, kElements, false);
  const kernel::Variable* unit = s.index("u");
  const Expr place = s.binary(BinaryOp::Mul, s.var(unit), s.integer(lanes));
  const Expr result = value(s, s.load(x, place, lanes), s.load(w, place, lanes), s.load(z, place, lanes));
  const kernel::Buffer* y = s.kernel().add_parameter("y", result->type.dtype, kElements, true);
  s.over_units(unit, {s.store(y, result->type.lanes == lanes ? place : s.var(unit), result)});
  s.kernel().units = kElements / lanes;
  if (kernel::verify(s.kernel()).is_ok()) kernels.push_back(s.take());
}

std::string label(const char* op, DType dtype, int lanes) {
  return std::string(op) + "_" + std::string(dtype_name(dtype)) + "_" + std::to_string(lanes);
}

class Compiled : public testing::TestWithParam<const char*> {};

TEST_P(Compiled, unary_operations) {
  Kernels kernels;
  for (const DType dtype : kTypes) {
    for (const int lanes : kLanes) {
      for (const UnaryOp op : kUnary)
        add_kernel(kernels, label(kernel::name_of(op), dtype, lanes), dtype, lanes, [&](Sketch& s, Expr a, Expr, Expr) { return s.unary(op, a); });
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 1);
}

TEST_P(Compiled, binary_operations) {
  Kernels kernels;
  for (const DType dtype : kTypes) {
    for (const int lanes : kLanes) {
      for (const BinaryOp op : kBinary)
        add_kernel(kernels, label(kernel::name_of(op), dtype, lanes), dtype, lanes,
                   [&](Sketch& s, Expr a, Expr b, Expr) { return s.binary(op, a, b); });
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 2);
}

TEST_P(Compiled, operations_with_a_constant) {
  Kernels kernels;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::UInt8, DType::Int64}) {
    for (const int lanes : {1, 8}) {
      for (const BinaryOp op : kBinary) {
        for (const double number : {0.0, -0.0, 6.0, -1.0}) {
          const Type type{dtype, static_cast<uint16_t>(lanes)};
          const auto fixed = [&](Sketch& s) {
            return is_standard_float(dtype) ? s.number(number, type) : s.integer(static_cast<int64_t>(number), type);
          };
          add_kernel(kernels, label(kernel::name_of(op), dtype, lanes) + "_right", dtype, lanes,
                     [&](Sketch& s, Expr a, Expr, Expr) { return s.binary(op, a, fixed(s)); });
          add_kernel(kernels, label(kernel::name_of(op), dtype, lanes) + "_left", dtype, lanes,
                     [&](Sketch& s, Expr a, Expr, Expr) { return s.binary(op, fixed(s), a); });
        }
      }
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 3);
}

TEST_P(Compiled, fma_and_select) {
  Kernels kernels;
  for (const DType dtype : kTypes) {
    for (const int lanes : kLanes) {
      add_kernel(kernels, label("fma", dtype, lanes), dtype, lanes, [&](Sketch& s, Expr a, Expr b, Expr c) { return s.fma(a, b, c); });
      add_kernel(kernels, label("select", dtype, lanes), dtype, lanes,
                 [&](Sketch& s, Expr a, Expr b, Expr c) { return s.select(s.cast(DType::Bool, a), b, c); });
      add_kernel(kernels, label("splat", dtype, lanes), dtype, lanes, [&](Sketch& s, Expr, Expr b, Expr) {
        return s.binary(BinaryOp::Add, s.lanes(lanes, s.integer(-3, {dtype, 1}), 5), b);
      });
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 4);
}

TEST_P(Compiled, casts) {
  Kernels kernels;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      for (const int lanes : {1, 8, 16}) {
        add_kernel(kernels, label("cast", from, lanes) + "_to_" + std::string(dtype_name(to)), from, lanes,
                   [&](Sketch& s, Expr a, Expr, Expr) { return s.cast(to, a); });
        if (dtype_bits(from) == dtype_bits(to)) {
          const Type type{to, static_cast<uint16_t>(lanes)};
          add_kernel(kernels, label("bits", from, lanes) + "_of_" + std::string(dtype_name(to)), from, lanes,
                     [&](Sketch& s, Expr a, Expr, Expr) { return s.bitcast(type, a); });
        }
      }
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 5);
}

Kernels some_kernels() {
  Kernels kernels;
  for (const int lanes : {1, 4, 8}) {
    for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Max, BinaryOp::Mod}) {
      add_kernel(kernels, label(kernel::name_of(op), DType::Float32, lanes), DType::Float32, lanes,
                 [&](Sketch& s, Expr a, Expr b, Expr) { return s.binary(op, a, b); });
    }
  }
  return kernels;
}

Result<CodeBlob> compile_some(const Target& target, int threads) {
  const Kernels kernels = some_kernels();
  std::vector<const Kernel*> pointers;
  for (const auto& kernel : kernels) {
    kernel->has_fma = target.machine.has_fma;
    pointers.push_back(kernel.get());
  }
  return compile_kernels(pointers, target, {.threads = threads});
}

TEST(Blob, bytes_do_not_depend_on_threads) {
  const Result<Target> target = parse_target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3");
  ASSERT_TRUE(target.has_value());
  const Result<CodeBlob> one = compile_some(*target, 1), three = compile_some(*target, 3);
  ASSERT_TRUE(one.has_value() && three.has_value());
  EXPECT_EQ(one->bytes, three->bytes);
}

TEST(Blob, a_stop_request_ends_the_work) {
  const Result<Target> target = parse_target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3");
  ASSERT_TRUE(target.has_value());
  std::stop_source source;
  source.request_stop();
  CodegenOptions options;
  options.stop = source.get_token();
  const Result<CodeBlob> blob = compile_kernels({}, *target, options);
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().code(), Code::Cancelled);
}

TEST(Blob, instructions_begin_at_a_page_and_the_query_lies_among_them) {
  for (const char* words : {"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "llvm -mtriple=aarch64-linux-gnu"}) {
    const Result<Target> target = parse_target(words);
    ASSERT_TRUE(target.has_value());
    const Result<CodeBlob> blob = compile_some(*target, 1);
    ASSERT_TRUE(blob.has_value()) << blob.error().message();
    EXPECT_EQ(blob->text_offset % (target->elf_machine == 62 ? 4096 : 65536), 0u);
    EXPECT_GE(blob->query_offset, blob->text_offset);
    EXPECT_LT(blob->query_offset, blob->bytes.size());
    for (const CodeBlob::Function& function : blob->functions) {
      EXPECT_GE(function.offset, blob->text_offset);
      EXPECT_GT(function.size, 0u);
      EXPECT_LE(function.offset + function.size, blob->bytes.size());
    }
  }
}

// The query answers with the header's address for its own ABI version and with null for others.
TEST(Blob, query_finds_the_header_at_its_fixed_distance) {
  if (!runs_here("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2")) GTEST_SKIP() << "[SKIP] not an x86-64 machine";
  const Result<Target> target = parse_target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2");
  const Result<CodeBlob> blob = compile_kernels({}, *target, {});
  ASSERT_TRUE(blob.has_value()) << blob.error().message();
  const LoadedBlob code(*blob);
  ASSERT_TRUE(code.is_ready());
  const char* base = static_cast<const char*>(code.at(0));
  const void* (*query)(uint32_t);
  const void* address = code.at(blob->query_offset);
  std::memcpy(&query, &address, sizeof query);
  EXPECT_EQ(query(TIFFIN_ABI_VERSION), base - TIFFIN_SO_CODE_ADDRESS + TIFFIN_SO_HEADER_ADDRESS);
  EXPECT_EQ(query(TIFFIN_ABI_VERSION + 1), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Targets, Compiled,
                         testing::Values("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3",
                                         "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"),
                         [](const auto& one) { return "target" + std::to_string(one.index); });

}  // namespace
}  // namespace tiffin::codegen
