// SPDX-License-Identifier: Apache-2.0
// Compiled code against the interpreter: ways to reach memory, loops, registers, local buffers, failures, and random kernels of everything.
#include <gtest/gtest.h>

#include "abi/kernel.h"
#include "compiler/codegen/llvm/kernel_sketch.h"
#include "compiler/kernel/verifier.h"

namespace tiffin::codegen {
namespace {

using kernel::Buffer;
using kernel::LoopKind;
using kernel::StmtKind;
using kernel::Variable;
using Kernels = std::vector<std::unique_ptr<Kernel>>;

class CompiledControl : public testing::TestWithParam<const char*> {};

// Every unit reads and writes its own 256 elements: lanes at `stride`, as many active as the unit's number says.
void add_access(Kernels& kernels, DType dtype, int lanes, int64_t stride, bool has_active) {
  Sketch s("access_" + std::string(dtype_name(dtype)) + "_" + std::to_string(lanes) + "_" + std::to_string(stride) + (has_active ? "_active" : ""));
  const Buffer* x = s.kernel().add_parameter("x", dtype, 70 * 256, false);
  const Buffer* y = s.kernel().add_parameter("y", dtype, 70 * 256, true);
  const Variable* unit = s.index("u");
  const Expr first = s.binary(BinaryOp::Add, s.binary(BinaryOp::Mul, s.var(unit), s.integer(256)), s.integer(stride < 0 ? 200 : 8));
  const Expr active = has_active ? s.binary(BinaryOp::Sub, s.var(unit), s.integer(2)) : nullptr;
  s.over_units(unit, {s.store(y, first, s.load(x, first, lanes, stride, active), stride, active)});
  s.kernel().units = 70;
  kernels.push_back(s.take());
}

TEST_P(CompiledControl, strides_and_active_lanes) {
  Kernels kernels;
  for (const DType dtype : {DType::Bool, DType::UInt8, DType::Float16, DType::Float32, DType::Int64}) {
    for (const int lanes : {1, 2, 8, 16}) {
      for (const int64_t stride : {-1, 0, 1, 2, 3}) {
        add_access(kernels, dtype, lanes, stride, false);
        add_access(kernels, dtype, lanes, stride, true);
      }
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 11);
}

TEST_P(CompiledControl, gather_and_scatter) {
  Kernels kernels;
  for (const DType dtype : {DType::Float32, DType::Int8, DType::Float64}) {
    for (const DType index : {DType::UInt8, DType::Int64, DType::UInt32}) {
      for (const int lanes : {2, 8, 32}) {
        Sketch s("gather");
        const Buffer* x = s.kernel().add_parameter("x", dtype, 256, false);
        const Buffer* i = s.kernel().add_parameter("i", index, 32 * lanes, false);
        const Buffer* y = s.kernel().add_parameter("y", dtype, 32 * 256, true);
        const Buffer* z = s.kernel().add_parameter("z", dtype, 32 * 256, true);
        const Variable* unit = s.index("u");
        const Expr byte = s.integer(255, {index, static_cast<uint16_t>(lanes)});
        const Expr at = s.binary(BinaryOp::And, s.load(i, s.binary(BinaryOp::Mul, s.var(unit), s.integer(lanes)), lanes), byte);
        const Expr base = s.splat(lanes, s.binary(BinaryOp::Mul, s.var(unit), s.integer(256)));
        const Expr target = s.binary(BinaryOp::Add, s.cast(DType::Int64, at), base);
        s.over_units(unit, {s.store(y, target, s.load(x, at, lanes)), s.store(z, target, s.load(x, at, lanes, 1, s.var(unit)), 1, s.var(unit))});
        s.kernel().units = 32;
        kernels.push_back(s.take());
      }
    }
  }
  expect_same_as_interpreter(kernels, GetParam(), 12);
}

// A matrix product with 4x2 accumulators in registers, unrolled, and a tail of K; the shape of the real tiles.
std::unique_ptr<Kernel> matmul(int lanes, int64_t depth) {
  Sketch s("matmul");
  const Type vector{DType::Float32, static_cast<uint16_t>(lanes)};
  const Buffer* a = s.kernel().add_parameter("a", DType::Float32, 12 * 4 * depth, false);
  const Buffer* b = s.kernel().add_parameter("b", DType::Float32, depth * 2 * lanes, false);
  const Buffer* c = s.kernel().add_parameter("c", DType::Float32, 12 * 4 * 2 * lanes, true);
  const Variable *unit = s.index("u"), *k = s.index("k");
  std::vector<Stmt> tile, body, last;
  const Expr row = s.binary(BinaryOp::Mul, s.var(unit), s.integer(4));
  for (int64_t m = 0; m < 4; ++m) {
    for (int64_t n = 0; n < 2; ++n) {
      const Variable* sum = s.kernel().add_variable("sum", vector, true);
      const Expr place = s.binary(BinaryOp::Add, s.binary(BinaryOp::Mul, s.binary(BinaryOp::Add, row, s.integer(m)), s.integer(depth)), s.var(k));
      const Expr left = s.splat(lanes, s.load(a, place, 1));
      const Expr right = s.load(b, s.binary(BinaryOp::Add, s.binary(BinaryOp::Mul, s.var(k), s.integer(2 * lanes)), s.integer(n * lanes)), lanes);
      tile.push_back(s.assign(StmtKind::Register, sum, s.number(0, vector)));
      body.push_back(s.assign(StmtKind::Set, sum, s.fma(left, right, s.var(sum))));
      const Expr out =
          s.binary(BinaryOp::Add, s.binary(BinaryOp::Mul, s.binary(BinaryOp::Add, row, s.integer(m)), s.integer(2 * lanes)), s.integer(n * lanes));
      last.push_back(s.store(c, out, s.binary(BinaryOp::Max, s.var(sum), s.number(0, vector))));
    }
  }
  tile.push_back(s.loop(k, s.integer(0), s.integer(depth), 1, body));
  tile.insert(tile.end(), last.begin(), last.end());
  s.over_units(unit, tile);
  s.kernel().units = 12;
  return s.take();
}

TEST_P(CompiledControl, accumulators) {
  Kernels kernels;
  for (const int lanes : {4, 8, 16}) {
    for (const int64_t depth : {1, 2, 37}) kernels.push_back(matmul(lanes, depth));
  }
  expect_same_as_interpreter(kernels, GetParam(), 13);
}

// Row sums through a scratch buffer and a local one, with a triangular nest, a loop that runs backwards through If, and empty loops.
std::unique_ptr<Kernel> nest(LoopKind kind) {
  Sketch s("nest");
  const Type one{DType::Int32, 1};
  const Buffer* x = s.kernel().add_parameter("x", DType::Int32, 20 * 16, false);
  const Buffer* y = s.kernel().add_parameter("y", DType::Int32, 20 * 16, true);
  const Buffer* scratch = s.kernel().add_scratch("t", DType::Int32, 16);
  const Buffer* local = s.kernel().add_local("l", DType::Int32, 16);
  const Variable *unit = s.index("u"), *i = s.index("i"), *j = s.index("j"), *n = s.index("n");
  const Variable* sum = s.kernel().add_variable("sum", one, true);
  const Expr base = s.binary(BinaryOp::Mul, s.var(unit), s.integer(16));
  const auto at = [&](const Variable* v) { return s.binary(BinaryOp::Add, base, s.var(v)); };
  const Stmt fill =
      s.loop(i, s.integer(0), s.integer(16), 1,
             {s.store(scratch, s.var(i), s.load(x, at(i), 1)), s.store(local, s.var(i), s.unary(UnaryOp::Neg, s.load(x, at(i), 1)))}, kind);
  const Expr is_odd = s.binary(BinaryOp::Equal, s.binary(BinaryOp::And, s.var(j), s.integer(1)), s.integer(1));
  const Stmt add = s.condition(is_odd, {s.assign(StmtKind::Set, sum, s.binary(BinaryOp::Add, s.var(sum), s.load(scratch, s.var(j), 1)))},
                               {s.assign(StmtKind::Set, sum, s.binary(BinaryOp::Xor, s.var(sum), s.load(local, s.var(j), 1)))});
  const Stmt triangle = s.loop(
      i, s.integer(0), s.integer(16), 3,
      {s.assign(StmtKind::Register, sum, s.integer(7, one)), s.loop(j, s.var(i), s.integer(16), 2, {add}, kind), s.store(y, at(i), s.var(sum))},
      kind);
  const Stmt never = s.loop(j, s.integer(5), s.integer(5), 1, {s.store(y, base, s.integer(1, one))}, kind);
  const Expr length = s.binary(BinaryOp::Mod, s.var(unit), s.integer(3));
  const Stmt some = s.loop(j, s.integer(1), s.var(n), 1, {s.store(y, at(j), s.load(x, at(j), 1))});
  s.over_units(unit, {fill, triangle, never, s.assign(StmtKind::Let, n, length), some});
  s.kernel().units = 20;
  return s.take();
}

TEST_P(CompiledControl, loops_and_buffers) {
  Kernels kernels;
  kernels.push_back(nest(LoopKind::Serial));
  kernels.push_back(nest(LoopKind::Unrolled));
  for (const auto& kernel : kernels) ASSERT_TRUE(kernel::verify(*kernel).is_ok()) << kernel::verify(*kernel).message();
  expect_same_as_interpreter(kernels, GetParam(), 14);
}

TEST_P(CompiledControl, failure_leaves_the_kernel) {
  Kernels kernels;
  for (const int64_t limit : {5, 100}) {
    Sketch s("fail");
    const Buffer* y = s.kernel().add_parameter("y", DType::Int64, 8, true);
    const Variable* unit = s.index("u");
    const Stmt check = s.condition(s.binary(BinaryOp::Less, s.integer(limit), s.var(unit)), {s.fail(TIFFIN_KERNEL_INDEX_OUT_OF_RANGE)}, {});
    s.over_units(unit, {check, s.store(y, s.var(unit), s.var(unit))});
    s.kernel().units = 8;
    kernels.push_back(s.take());
  }
  expect_same_as_interpreter(kernels, GetParam(), 15);
}

// An expression tree over values of one type; every operation that the verifier knows may occur.
class RandomExpressions {
 public:
  RandomExpressions(Sketch& sketch, Random& random, const Variable* unit, std::vector<Expr> leaves)
      : s_(sketch), random_(random), unit_(unit), pool_(std::move(leaves)) {}

  Expr grow(int count) {
    for (int i = 0; i < count; ++i) {
      const Expr next = candidate();
      if (is_valid(next)) pool_.push_back(next);
    }
    return pool_.back();
  }

 private:
  Expr pick() { return pool_[random_() % pool_.size()]; }

  Expr candidate() {
    constexpr DType kTypes[] = {DType::Bool,  DType::Int8,    DType::UInt16,  DType::Int32,  DType::UInt32,
                                DType::Int64, DType::Float32, DType::Float64, DType::Float16};
    switch (random_() % 5) {
      case 0:
        return s_.unary(static_cast<UnaryOp>(random_() % 8), pick());
      case 1:
      case 2: {
        const Expr a = pick();
        return s_.binary(static_cast<BinaryOp>(random_() % 15), a, same_type(a->type));
      }
      case 3:
        return s_.cast(kTypes[random_() % std::size(kTypes)], pick());
      default: {
        const Expr a = pick();
        return random_() % 2 == 0 ? s_.select(s_.cast(DType::Bool, pick()), a, same_type(a->type))
                                  : s_.fma(a, same_type(a->type), same_type(a->type));
      }
    }
  }

  Expr same_type(Type type) {
    const Expr other = pick();
    return other->type == type ? other : s_.cast(type.dtype, other);
  }

  // Whether the verifier takes the expression; the unit is declared for it by a Let.
  bool is_valid(Expr e) {
    Kernel probe("probe");
    const Expr zero = probe.add(kernel::ExprNode{.kind = kernel::ExprKind::Const, .type = {DType::Int64, 1}});
    const Variable* result = probe.add_variable("v", e->type, false);
    probe.body = {probe.add(kernel::StmtNode{.kind = StmtKind::Let, .variable = unit_, .a = zero}),
                  probe.add(kernel::StmtNode{.kind = StmtKind::Let, .variable = result, .a = e})};
    return kernel::verify(probe).is_ok();
  }

  Sketch& s_;
  Random& random_;
  const Variable* unit_;
  std::vector<Expr> pool_;
};

std::unique_ptr<Kernel> random_kernel(Random& random) {
  Sketch s("random");
  const int lanes = 1 << random() % 6;
  const Variable* unit = s.index("u");
  const Expr place = s.binary(BinaryOp::Mul, s.var(unit), s.integer(lanes));
  std::vector<Expr> leaves;
  for (const DType dtype : {DType::Float32, DType::Int32, DType::Float32, DType::UInt8, DType::Float64, DType::Int64}) {
    leaves.push_back(s.load(s.kernel().add_parameter("x", dtype, 16 * lanes, false), place, lanes));
  }
  RandomExpressions expressions(s, random, unit, leaves);
  std::vector<Stmt> body;
  for (int i = 0; i < 3; ++i) {
    const Expr value = expressions.grow(12);
    body.push_back(s.store(s.kernel().add_parameter("y", value->type.dtype, 16 * lanes, true), place, value));
  }
  s.over_units(unit, body);
  s.kernel().units = 16;
  return s.take();
}

TEST_P(CompiledControl, random_kernels) {
  constexpr uint64_t kSeed = 20;
  Random random(kSeed);
  Kernels kernels;
  for (int i = 0; i < 60; ++i) kernels.push_back(random_kernel(random));
  expect_same_as_interpreter(kernels, GetParam(), kSeed);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledControl,
                         testing::Values("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3",
                                         "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"),
                         [](const auto& one) { return "target" + std::to_string(one.index); });

}  // namespace
}  // namespace tiffin::codegen
