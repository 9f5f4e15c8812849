// SPDX-License-Identifier: Apache-2.0
// For tests: kernels written by hand in few words, random buffers for them, and the comparison of compiled code with the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/kernel/ir.h"

namespace tiffin::codegen {

using kernel::BinaryOp;
using kernel::Expr;
using kernel::Kernel;
using kernel::Stmt;
using kernel::Type;
using kernel::UnaryOp;

// Thin constructors over a Kernel; each returns a node.
class Sketch {
 public:
  explicit Sketch(const std::string& name) : kernel_(std::make_unique<Kernel>(name)) {}

  Kernel& kernel() { return *kernel_; }
  std::unique_ptr<Kernel> take() { return std::move(kernel_); }

  Expr integer(int64_t value, Type type = {DType::Int64, 1});
  Expr number(double value, Type type);
  Expr var(const kernel::Variable* variable);
  Expr unary(UnaryOp op, Expr a);  // keeps the type; reductions give one lane
  Expr bitcast(Type type, Expr a);
  Expr binary(BinaryOp op, Expr a, Expr b);  // comparisons give bool
  Expr fma(Expr a, Expr b, Expr c);
  Expr select(Expr condition, Expr yes, Expr no);
  Expr cast(DType dtype, Expr a);
  Expr splat(int lanes, Expr a);
  Expr lanes(int count, Expr first, int64_t step);
  Expr load(const kernel::Buffer* buffer, Expr index, int lanes, int64_t stride = 1, Expr active = nullptr);
  Stmt store(const kernel::Buffer* buffer, Expr index, Expr value, int64_t stride = 1, Expr active = nullptr);
  Stmt loop(const kernel::Variable* variable, Expr begin, Expr end, int64_t step, std::vector<Stmt> body,
            kernel::LoopKind kind = kernel::LoopKind::Serial);
  Stmt condition(Expr condition, std::vector<Stmt> body, std::vector<Stmt> otherwise);
  Stmt assign(kernel::StmtKind kind, const kernel::Variable* variable, Expr value);
  Stmt fail(int32_t status);

  const kernel::Variable* index(const std::string& name) { return kernel_->add_variable(name, {DType::Int64, 1}, false); }
  // The usual frame: a loop over the units around `body`.
  void over_units(const kernel::Variable* unit, std::vector<Stmt> body);

 private:
  std::unique_ptr<Kernel> kernel_;
};

using Random = std::mt19937_64;

// The bits of one element: random, every third from a list of the type's special values.
uint64_t random_element(DType dtype, Random& random);

// Computes a range of units; returns a kernel's status.
using Runner = std::function<int32_t(void* const* buffers, int64_t unit_begin, int64_t unit_end)>;

// Fills the kernel's buffers at random and expects `run` and the interpreter to leave the same bits in all of them (any NaN equals any NaN), also
// when the units are computed in two calls.
void expect_same_as_interpreter(const Kernel& kernel, const Runner& run, uint64_t seed);

// The same of all kernels, compiled for `words`. (test/portable replaces this by running them as data.)
void expect_same_as_interpreter(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::string& words, uint64_t seed);

// True if this machine runs code for the target.
bool runs_here(const std::string& words);

}  // namespace tiffin::codegen
