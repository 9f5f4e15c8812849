// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/verifier.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tiffin::kernel {
namespace {

constexpr Type kIndex{DType::Int64, 1};

// A kernel with an input and an output of 16 floats, for rules to be broken in.
struct Broken {
  Kernel kernel{"k"};
  const Buffer* x = kernel.add_parameter("x", DType::Float32, 16, false);
  const Buffer* y = kernel.add_parameter("y", DType::Float32, 16, true);

  Expr integer(int64_t value) { return kernel.add(ExprNode{.kind = ExprKind::Const, .type = kIndex, .int_value = value}); }
  Expr number(DType dtype, uint16_t lanes) { return kernel.add(ExprNode{.kind = ExprKind::Const, .type = {dtype, lanes}}); }
  Expr var(const Variable* v) { return kernel.add(ExprNode{.kind = ExprKind::Var, .type = v->type, .variable = v}); }
  Expr binary(BinaryOp op, Type type, Expr a, Expr b) {
    return kernel.add(ExprNode{.kind = ExprKind::Binary, .type = type, .binary = op, .a = a, .b = b});
  }
  void store(const Buffer* buffer, Expr index, Expr value) {
    kernel.body.push_back(kernel.add(StmtNode{.kind = StmtKind::Store, .a = index, .b = value, .buffer = buffer}));
  }
  void expect_broken(const char* rule) {
    const Status status = verify(kernel);
    ASSERT_FALSE(status.is_ok());
    EXPECT_EQ(status.code(), Code::Internal);
    EXPECT_NE(std::strstr(status.message(), rule), nullptr) << status.message();
  }
};

TEST(Verifier, takes_a_sound_kernel) {
  Broken k;
  k.store(k.y, k.integer(0), k.number(DType::Float32, 8));
  EXPECT_TRUE(verify(k.kernel).is_ok());
}

TEST(Verifier, local_buffers_are_small) {
  Broken k;
  k.store(k.kernel.add_local("l", DType::Float32, 16 * 1024), k.integer(0), k.number(DType::Float32, 1));
  k.expect_broken("rule 4");
}

TEST(Verifier, unrolled_loops_have_constant_bounds) {
  Broken k;
  const Variable* i = k.kernel.add_variable("i", kIndex, false);
  k.kernel.body.push_back(
      k.kernel.add(StmtNode{.kind = StmtKind::For, .variable = i, .a = k.integer(0), .b = k.var(k.kernel.unit_end), .loop = LoopKind::Unrolled}));
  k.expect_broken("rule 6");
}

TEST(Verifier, a_variable_ends_with_its_block) {
  Broken k;
  const Variable* i = k.kernel.add_variable("i", kIndex, false);
  k.kernel.body.push_back(k.kernel.add(StmtNode{.kind = StmtKind::For, .variable = i, .a = k.integer(0), .b = k.integer(4)}));
  k.store(k.y, k.var(i), k.number(DType::Float32, 1));
  k.expect_broken("rule 8");
}

TEST(Verifier, a_register_is_declared_before_it_is_set) {
  Broken k;
  const Variable* r = k.kernel.add_variable("r", {DType::Float32, 1}, true);
  k.kernel.body.push_back(k.kernel.add(StmtNode{.kind = StmtKind::Set, .variable = r, .a = k.number(DType::Float32, 1)}));
  k.expect_broken("rule 8");
}

TEST(Verifier, inputs_are_not_written) {
  Broken k;
  k.store(k.x, k.integer(0), k.number(DType::Float32, 1));
  k.expect_broken("rule 10");
}

TEST(Verifier, a_store_has_its_buffers_type) {
  Broken k;
  k.store(k.y, k.integer(0), k.number(DType::Int32, 1));
  k.expect_broken("rule 10");
}

TEST(Verifier, lanes_are_a_power_of_two) {
  Broken k;
  k.store(k.y, k.integer(0), k.number(DType::Float32, 12));
  k.expect_broken("rule 11");
}

TEST(Verifier, operands_agree_in_type) {
  Broken k;
  k.store(k.y, k.integer(0), k.binary(BinaryOp::Add, {DType::Float32, 1}, k.number(DType::Float32, 1), k.number(DType::Float64, 1)));
  k.expect_broken("rule 13");
}

TEST(Verifier, narrow_floats_are_storage) {
  Broken k;
  const Type half{DType::Float16, 1};
  const Expr sum = k.binary(BinaryOp::Add, half, k.number(DType::Float16, 1), k.number(DType::Float16, 1));
  k.store(k.kernel.add_parameter("h", DType::Float16, 1, true), k.integer(0), sum);
  k.expect_broken("rule 13");
}

TEST(Verifier, packed_types_are_refused) {
  Broken k;
  k.kernel.add_parameter("p", DType::Int4, 4, false);
  const Status status = verify(k.kernel);
  EXPECT_EQ(status.code(), Code::UnsupportedType);
}

// Shared nodes must not be visited once per path: this graph has 2^200 of them.
TEST(Verifier, takes_graphs_with_many_paths) {
  Broken k;
  Expr value = k.number(DType::Float32, 1);
  for (int i = 0; i < 200; ++i) value = k.binary(BinaryOp::Add, {DType::Float32, 1}, value, value);
  k.store(k.y, k.integer(0), value);
  EXPECT_TRUE(verify(k.kernel).is_ok());
}

}  // namespace
}  // namespace tiffin::kernel
