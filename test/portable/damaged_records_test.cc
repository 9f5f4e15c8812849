// SPDX-License-Identifier: Apache-2.0
// Records that no compiler wrote: each is refused, or runs without touching anything but its own buffers (which AddressSanitizer watches).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "abi/kernel_ir.h"
#include "compiler/codegen/llvm/kernel_sketch.h"
#include "compiler/kernel/serialize.h"
#include "compiler/kernel/verifier.h"
#include "runtime/device/interpreter/kernel_ir.h"
#include "test/portable/run_record.h"

namespace tiffin::portable {
namespace {

using codegen::Sketch;
using kernel::BinaryOp;
using kernel::Expr;
using kernel::Kernel;
using kernel::Stmt;
using kernel::StmtKind;
using kernel::UnaryOp;
using Bytes = std::vector<uint8_t>;

// A bit of everything that a record can say.
std::unique_ptr<Kernel> everything() {
  Sketch s("everything");
  Kernel& k = s.kernel();
  const kernel::Buffer* x = k.add_parameter("x", DType::Float32, 64, false);
  const kernel::Buffer* at = k.add_parameter("at", DType::Int32, 64, false);
  const kernel::Buffer* flags = k.add_parameter("flags", DType::Bool, 64, false);
  const kernel::Buffer* y = k.add_parameter("y", DType::Float32, 64, true);
  const kernel::Buffer* local = k.add_local("local", DType::Float32, 24);
  const kernel::Buffer* scratch = k.add_scratch("scratch", DType::Float16, 16);
  const kernel::Variable *u = s.index("u"), *i = s.index("i");
  const kernel::Variable* sum = k.add_variable("sum", {DType::Float32, 8}, true);
  const Expr row = s.binary(BinaryOp::Mul, s.var(u), s.integer(8)), one = s.integer(1);
  const Expr value = s.load(x, row, 8), rest = s.binary(BinaryOp::Sub, s.integer(8), s.binary(BinaryOp::Mod, s.var(i), s.integer(3)));
  const Expr indices = s.binary(BinaryOp::And, s.load(at, row, 8), s.splat(8, s.integer(63, {DType::Int32, 1})));
  const Expr condition = s.load(flags, s.var(u), 1);
  std::vector<Stmt> inner;
  inner.push_back(s.store(local, s.binary(BinaryOp::Add, s.var(i), s.integer(16)), s.load(x, s.var(i), 1)));
  inner.push_back(s.store(scratch, s.integer(0), s.cast(DType::Float16, value)));
  inner.push_back(
      s.assign(StmtKind::Set, sum, s.fma(value, s.splat(8, s.load(local, s.binary(BinaryOp::Add, s.var(i), s.integer(16)), 1)), s.var(sum))));
  inner.push_back(
      s.assign(StmtKind::Set, sum, s.binary(BinaryOp::Max, s.var(sum), s.cast(DType::Float32, s.load(scratch, s.integer(0), 8, 1, rest)))));
  std::vector<Stmt> body;
  body.push_back(s.assign(StmtKind::Register, sum, s.load(x, indices, 8)));
  body.push_back(s.loop(i, s.integer(0), s.integer(8), 1, inner));
  body.push_back(s.condition(condition, {s.store(y, row, s.unary(UnaryOp::Floor, s.var(sum)))},
                             {s.store(y, row, s.select(s.binary(BinaryOp::Less, value, s.var(sum)), value, s.var(sum)), 1, one)}));
  body.push_back(s.condition(s.binary(BinaryOp::Less, s.var(u), s.integer(-1)), {s.fail(1)}, {}));
  s.over_units(u, body);
  k.units = 8;
  return s.take();
}

Bytes record() {
  const std::unique_ptr<Kernel> kernel = everything();
  const Status verified = kernel::verify(*kernel);
  EXPECT_TRUE(verified.is_ok()) << verified.message();
  auto bytes = kernel::serialize_kernel(*kernel);
  EXPECT_TRUE(bytes.has_value());
  return std::move(bytes).value();
}

std::string refusal(const Bytes& bytes) {
  runtime::Arena arena;
  const auto kernel = runtime::read_kernel_ir(bytes, arena);
  if (kernel.has_value()) return "";
  EXPECT_EQ(kernel.error().code(), Code::NotAnArtifact);
  return kernel.error().message();
}

void expect_refusal(const Bytes& bytes, const char* reason) {
  const std::string message = refusal(bytes);
  EXPECT_NE(message.find(reason), std::string::npos) << "'" << message << "' does not say '" << reason << "'";
}

constexpr uint8_t type(DType dtype, int log2_lanes = 0) { return static_cast<uint8_t>(log2_lanes << 5 | static_cast<int>(dtype)); }
constexpr uint8_t buffer(int kind, DType dtype) { return static_cast<uint8_t>(kind << 5 | static_cast<int>(dtype)); }

// A record by hand: an input and an output of four float32, two registers beside the range of units (2: int64, 3: float32, 4: four bools), and code.
Bytes small(const Bytes& code, uint8_t flags = 0) {
  Bytes bytes = {TIFFIN_IR_VERSION,
                 flags,
                 1,
                 0,
                 2,
                 buffer(TIFFIN_IR_INPUT, DType::Float32),
                 4,
                 buffer(TIFFIN_IR_OUTPUT, DType::Float32),
                 4,
                 5,
                 0,
                 type(DType::Int64),
                 type(DType::Int64),
                 type(DType::Int64),
                 type(DType::Float32),
                 type(DType::Bool, 2)};
  bytes.reserve(bytes.size() + code.size());
  std::copy(code.begin(), code.end(), std::back_inserter(bytes));
  return bytes;
}

TEST(DamagedRecords, SoundOnesAreTaken) {
  EXPECT_EQ(refusal(record()), "");
  EXPECT_TRUE(try_record(record()).is_ok());
  EXPECT_EQ(refusal(small({TIFFIN_IR_END})), "");
}

TEST(DamagedRecords, NoTruncationPasses) {
  const Bytes whole = record();
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(refusal({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)}), "");
  Bytes longer = whole;
  longer.push_back(0);
  expect_refusal(longer, "it goes on behind its end");
}

TEST(DamagedRecords, MutationsStayInsideTheirBuffers) {
  constexpr uint64_t kSeed = 11;
  const Bytes whole = record();
  std::mt19937_64 random(kSeed);
  int sound = 0;
  for (int round = 0; round < 30000; ++round) {
    Bytes mutated = whole;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      uint8_t& byte = mutated[random() % mutated.size()];
      byte = static_cast<uint8_t>(random() % 2 == 0 ? byte ^ (1u << random() % 8) : random());
    }
    sound += try_record(mutated).is_ok() ? 1 : 0;
  }
  EXPECT_GT(sound, 100);  // the check would say little if hardly any ran
}

TEST(DamagedRecords, EachFaultHasItsReason) {
  constexpr uint8_t add = TIFFIN_IR_BINARY, end = TIFFIN_IR_END;
  expect_refusal(small({TIFFIN_IR_COPY, 3, 9, end}), "a register is not declared");
  expect_refusal(small({TIFFIN_IR_COPY, 0, 2, end}), "a constant is written");
  expect_refusal(small({TIFFIN_IR_COPY, 2, 3, end}), "a copy changes the width");
  expect_refusal(small({add, 3, 3, 2, end}), "operands differ in type");
  expect_refusal(small({TIFFIN_IR_UNARY + 3, 2, 2, end}), "an operation does not exist for its type");
  expect_refusal(small({TIFFIN_IR_UNARY + 12, 2, 2, end}), "an operation is not known");
  expect_refusal(small({TIFFIN_IR_UNARY + 8, 3, 3, end}), "an operation does not exist for its type");
  expect_refusal(small({25, end}), "an instruction is not known");
  expect_refusal(small({TIFFIN_IR_LOAD, 3, 2, 2, 0, 0, end}), "a buffer is not declared");
  expect_refusal(small({TIFFIN_IR_STORE, 3, 0, 2, 0, 0, end}), "an input is written");
  expect_refusal(small({TIFFIN_IR_LOAD, 2, 0, 2, 0, 0, end}), "an access differs from its buffer in type");
  expect_refusal(small({TIFFIN_IR_LOAD, 3, 0, 2, 0, 1, 3, 2, end}), "an index is no int64");
  expect_refusal(small({TIFFIN_IR_LOAD, 3, 0, 2, 0, 200, 1, end}), "a sum has too many terms");
  expect_refusal(small({TIFFIN_IR_FOR, 2, 0, 1, 0, end, end}), "a step is not positive");
  expect_refusal(small({TIFFIN_IR_FOR, 2, 0, 3, 1, end, end}), "the range of a loop is no int64");
  expect_refusal(small({TIFFIN_IR_IF, 2, end, end}), "a condition is not one bool");
  expect_refusal(small({TIFFIN_IR_ELSE, end}), "an else has no if");
  expect_refusal(small({TIFFIN_IR_FAIL, 0, end}), "a failure is not positive");
  expect_refusal(small({end, end}), "it goes on behind its end");
  expect_refusal(small({end}, 2), "a flag is not known");
  Bytes deep;
  for (int i = 0; i < 70; ++i) std::ranges::copy(Bytes{TIFFIN_IR_FOR, 2, 0, 1, 1}, std::back_inserter(deep));
  std::fill_n(std::back_inserter(deep), 71, end);
  expect_refusal(small(deep), "it is nested too deeply");
}

// What cannot be known before a run ends it.
TEST(DamagedRecords, AccessesAreComparedWithTheirBuffer) {
  runtime::Arena arena;
  // y[unit_begin] = x[unit_begin]
  const Bytes bytes = small({TIFFIN_IR_LOAD, 3, 0, 2, 0, 1, 0, 2, TIFFIN_IR_STORE, 3, 1, 2, 0, 1, 0, 2, TIFFIN_IR_END});
  const auto kernel = runtime::read_kernel_ir(bytes, arena);
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message();
  alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {};
  alignas(64) uint8_t scratch[4096];
  ASSERT_LE((*kernel)->scratch_bytes, sizeof(scratch));
  void* const buffers[] = {x, y};
  EXPECT_EQ(runtime::run_kernel(**kernel, buffers, scratch, 3, 4), 0);
  EXPECT_EQ(y[3], 4);
  EXPECT_EQ(runtime::run_kernel(**kernel, buffers, scratch, 4, 5), runtime::kAccessOutsideBuffer);
  EXPECT_EQ(runtime::run_kernel(**kernel, buffers, scratch, -1, 5), runtime::kAccessOutsideBuffer);
}

TEST(DamagedRecords, LoopsEnd) {
  runtime::Arena arena;
  // From the least int64 on, in steps that overflow; the body sets the variable back.
  const Bytes bytes =
      small({TIFFIN_IR_FOR, 2, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, TIFFIN_IR_COPY, 2, 0, TIFFIN_IR_END, TIFFIN_IR_END});
  const auto kernel = runtime::read_kernel_ir(bytes, arena);
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message();
  alignas(64) float x[4] = {}, y[4] = {};
  alignas(64) uint8_t scratch[4096];
  void* const buffers[] = {x, y};
  EXPECT_EQ(runtime::run_kernel(**kernel, buffers, scratch, INT64_MIN, INT64_MAX), 0);
  EXPECT_EQ(runtime::run_kernel(**kernel, buffers, scratch, INT64_MIN, INT64_MAX, 2), runtime::kTooManyIterations);
}

}  // namespace
}  // namespace tiffin::portable
