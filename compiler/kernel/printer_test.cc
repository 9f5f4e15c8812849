// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/printer.h"

#include <gtest/gtest.h>

#include <memory>

namespace tiffin::kernel {
namespace {

constexpr Type kIndex{DType::Int64, 1};

// y[8 u] = s + s with s = x[8 u]
std::unique_ptr<Kernel> doubling(const std::string& name, const std::string& input, int64_t lanes) {
  auto k = std::make_unique<Kernel>(name);
  const Buffer* x = k->add_parameter(input, DType::Float32, 64, false);
  const Buffer* y = k->add_parameter("y", DType::Float32, 64, true);
  const Variable* u = k->add_variable("u", kIndex, false);
  const auto var = [&](const Variable* v) { return k->add(ExprNode{.kind = ExprKind::Var, .type = kIndex, .variable = v}); };
  const Expr eight = k->add(ExprNode{.kind = ExprKind::Const, .type = kIndex, .int_value = 8});
  const Type vector{DType::Float32, static_cast<uint16_t>(lanes)};
  const Expr place = k->add(ExprNode{.kind = ExprKind::Binary, .type = kIndex, .binary = BinaryOp::Mul, .a = var(u), .b = eight});
  const Expr s = k->add(ExprNode{.kind = ExprKind::Load, .type = vector, .a = place, .buffer = x});
  const Expr sum = k->add(ExprNode{.kind = ExprKind::Binary, .type = vector, .binary = BinaryOp::Add, .a = s, .b = s});
  const Stmt store = k->add(StmtNode{.kind = StmtKind::Store, .a = place, .b = sum, .buffer = y});
  k->body = {k->add(StmtNode{.kind = StmtKind::For, .body = {store}, .variable = u, .a = var(k->unit_begin), .b = var(k->unit_end)})};
  k->units = 8;
  return k;
}

TEST(Printer, shows_statements_and_names_shared_expressions) {
  EXPECT_EQ(print(*doubling("double", "x", 8)),
            "kernel double units 8 scratch 0 grain 1 fma\n"
            "  input @x float32[64]\n"
            "  output @y float32[64]\n"
            "  for %u.2 from %unit_begin.0 to %unit_end.1 by 1 {\n"
            "    $0 = mul(%u.2, 8:int64)\n"
            "    $1 = load float32x8 @x[$0]\n"
            "    store @y[$0] = add($1, $1)\n"
            "  }\n");
}

TEST(Printer, key_is_blind_to_names_alone) {
  EXPECT_EQ(structural_key(*doubling("a", "x", 8)), structural_key(*doubling("b", "input", 8)));
  EXPECT_NE(structural_key(*doubling("a", "x", 8)), structural_key(*doubling("a", "x", 4)));
}

}  // namespace
}  // namespace tiffin::kernel
