// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/kernel_sketch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "abi/kernel.h"
#include "compiler/kernel/interpreter.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/scalar.h"

namespace tiffin::codegen {

using kernel::Buffer;
using kernel::ExprKind;
using kernel::ExprNode;
using kernel::StmtKind;
using kernel::StmtNode;

Expr Sketch::integer(int64_t value, Type type) { return kernel_->add(ExprNode{.kind = ExprKind::Const, .type = type, .int_value = value}); }
Expr Sketch::number(double value, Type type) { return kernel_->add(ExprNode{.kind = ExprKind::Const, .type = type, .float_value = value}); }
Expr Sketch::var(const kernel::Variable* v) { return kernel_->add(ExprNode{.kind = ExprKind::Var, .type = v->type, .variable = v}); }

Expr Sketch::unary(UnaryOp op, Expr a) {
  const bool is_reduction = op == UnaryOp::ReduceAdd || op == UnaryOp::ReduceMax || op == UnaryOp::ReduceMin;
  return kernel_->add(ExprNode{.kind = ExprKind::Unary, .type = is_reduction ? Type{a->type.dtype, 1} : a->type, .unary = op, .a = a});
}

Expr Sketch::bitcast(Type type, Expr a) { return kernel_->add(ExprNode{.kind = ExprKind::Unary, .type = type, .unary = UnaryOp::BitCast, .a = a}); }

Expr Sketch::binary(BinaryOp op, Expr a, Expr b) {
  const bool is_comparison = op == BinaryOp::Equal || op == BinaryOp::Less || op == BinaryOp::LessEqual;
  const Type type = is_comparison ? Type{DType::Bool, a->type.lanes} : a->type;
  return kernel_->add(ExprNode{.kind = ExprKind::Binary, .type = type, .binary = op, .a = a, .b = b});
}

Expr Sketch::fma(Expr a, Expr b, Expr c) { return kernel_->add(ExprNode{.kind = ExprKind::Fma, .type = a->type, .a = a, .b = b, .c = c}); }
Expr Sketch::select(Expr a, Expr b, Expr c) { return kernel_->add(ExprNode{.kind = ExprKind::Select, .type = b->type, .a = a, .b = b, .c = c}); }
Expr Sketch::cast(DType dtype, Expr a) { return kernel_->add(ExprNode{.kind = ExprKind::Cast, .type = {dtype, a->type.lanes}, .a = a}); }

Expr Sketch::splat(int lanes, Expr a) {
  return kernel_->add(ExprNode{.kind = ExprKind::Splat, .type = {a->type.dtype, static_cast<uint16_t>(lanes)}, .a = a});
}

Expr Sketch::lanes(int count, Expr first, int64_t step) {
  return kernel_->add(ExprNode{.kind = ExprKind::Lanes, .type = {first->type.dtype, static_cast<uint16_t>(count)}, .int_value = step, .a = first});
}

Expr Sketch::load(const Buffer* buffer, Expr index, int lanes, int64_t stride, Expr active) {
  const Type type{buffer->dtype, static_cast<uint16_t>(lanes)};
  return kernel_->add(ExprNode{.kind = ExprKind::Load, .type = type, .a = index, .b = active, .buffer = buffer, .stride = stride});
}

Stmt Sketch::store(const Buffer* buffer, Expr index, Expr value, int64_t stride, Expr active) {
  return kernel_->add(StmtNode{.kind = StmtKind::Store, .a = index, .b = value, .c = active, .buffer = buffer, .stride = stride});
}

Stmt Sketch::loop(const kernel::Variable* variable, Expr begin, Expr end, int64_t step, std::vector<Stmt> body, kernel::LoopKind kind) {
  return kernel_->add(
      StmtNode{.kind = StmtKind::For, .body = std::move(body), .variable = variable, .a = begin, .b = end, .step = step, .loop = kind});
}

Stmt Sketch::condition(Expr a, std::vector<Stmt> body, std::vector<Stmt> otherwise) {
  return kernel_->add(StmtNode{.kind = StmtKind::If, .body = std::move(body), .otherwise = std::move(otherwise), .a = a});
}

Stmt Sketch::assign(StmtKind kind, const kernel::Variable* variable, Expr value) {
  return kernel_->add(StmtNode{.kind = kind, .variable = variable, .a = value});
}

Stmt Sketch::fail(int32_t status) { return kernel_->add(StmtNode{.kind = StmtKind::Fail, .failure = status}); }

void Sketch::over_units(const kernel::Variable* unit, std::vector<Stmt> body) {
  kernel_->body.push_back(loop(unit, var(kernel_->unit_begin), var(kernel_->unit_end), 1, std::move(body)));
}

uint64_t random_element(DType dtype, Random& random) {
  constexpr double kNumbers[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 2.5,
                                 -2.5,
                                 127.5,
                                 128,
                                 -128.5,
                                 255.9,
                                 256,
                                 65504,
                                 65519.99,
                                 65520,
                                 65536,
                                 0x1p-24,
                                 0x1p-25,
                                 0x1.8p-25,
                                 0x1p-126,
                                 0x1p-149,
                                 2147483647,
                                 2147483648.0,
                                 -2147483649.0,
                                 4294967295.0,
                                 0x1p63,
                                 -0x1p63,
                                 0x1p64,
                                 1e30,
                                 -1e300,
                                 3.3,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  constexpr int64_t kIntegers[] = {0, 0, 1, -1, 2, -2, 7, 31, 32, 33, 63, 64, 127, 128, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  const uint64_t bits = random();
  if (dtype == DType::Bool) return bits & 1;
  const bool is_special = random() % 3 == 0;
  if (is_standard_float(dtype)) {
    if (is_special) return kernel::float_bits(dtype, kNumbers[random() % std::size(kNumbers)]);
    if (random() % 2 == 0) return kernel::float_bits(dtype, static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-58);
    return kernel::integer_bits(dtype == DType::Float64   ? DType::Int64
                                : dtype == DType::Float32 ? DType::UInt32
                                                          : DType::UInt16,
                                static_cast<int64_t>(bits));
  }
  const int size = dtype_bits(dtype);
  if (is_special && random() % 2 == 0) return kernel::integer_bits(dtype, is_signed_int(dtype) ? int64_t{-1} << (size - 1) : -1);
  return kernel::integer_bits(dtype, is_special ? kIntegers[random() % std::size(kIntegers)] : static_cast<int64_t>(bits));
}

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// The buffers of one kernel, exactly as long as it says (so that a sanitizer sees what leaves them).
class Buffers {
 public:
  Buffers(const Kernel& kernel, Random& random) {
    for (const Buffer* buffer : kernel.parameters()) {
      const int width = kernel::element_bytes(buffer->dtype);
      const size_t bytes = static_cast<size_t>(buffer->size * width);
      memory_.emplace_back(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
      for (int64_t i = 0; i < buffer->size; ++i) {
        const uint64_t bits = random_element(buffer->dtype, random);
        std::memcpy(static_cast<char*>(memory_.back().get()) + i * width, &bits, static_cast<size_t>(width));
      }
      pointers_.push_back(memory_.back().get());
    }
  }
  std::vector<void*>& pointers() { return pointers_; }

 private:
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<void*> pointers_;
};

void expect_equal(const Kernel& kernel, void* const* expected, void* const* actual, const char* how) {
  for (const Buffer* buffer : kernel.parameters()) {
    const int width = kernel::element_bytes(buffer->dtype);
    for (int64_t i = 0; i < buffer->size; ++i) {
      uint64_t want = 0, got = 0;
      std::memcpy(&want, static_cast<const char*>(expected[buffer->index]) + i * width, static_cast<size_t>(width));
      std::memcpy(&got, static_cast<const char*>(actual[buffer->index]) + i * width, static_cast<size_t>(width));
      if (want == got || (kernel::is_nan(buffer->dtype, want) && kernel::is_nan(buffer->dtype, got))) continue;
      ADD_FAILURE() << "kernel '" << kernel.name << "' (" << how << "), buffer '" << buffer->name << "' element " << i << ": interpreter 0x"
                    << std::hex << want << ", compiled 0x" << got << "\n"
                    << kernel::print(kernel);
      return;
    }
  }
}

}  // namespace

void expect_same_as_interpreter(const Kernel& kernel, const Runner& run, uint64_t seed) {
  Random first(seed), second(seed), third(seed);
  Buffers expected(kernel, first), whole(kernel, second), halves(kernel, third);
  const Status status = kernel::interpret(kernel, expected.pointers(), 0, kernel.units);
  const int32_t code = run(whole.pointers().data(), 0, kernel.units);
  ASSERT_EQ(status.is_ok(), code == TIFFIN_KERNEL_OK) << kernel.name << ": " << status.message();
  if (!status.is_ok()) {
    EXPECT_EQ(status.code(), Code::IndexOutOfRange) << status.message();
    return;
  }
  expect_equal(kernel, expected.pointers().data(), whole.pointers().data(), "all units");
  const int64_t middle = kernel.units / 3;
  EXPECT_EQ(run(halves.pointers().data(), middle, kernel.units), 0);
  EXPECT_EQ(run(halves.pointers().data(), 0, middle), 0);
  expect_equal(kernel, expected.pointers().data(), halves.pointers().data(), "in two calls");
}

}  // namespace tiffin::codegen
