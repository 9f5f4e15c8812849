// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/widen_halves.h"

#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

using graph::Op;

TEST(WidenHalves, RoundsOnceBehindAChain) {
  const graph::Graph graph = expect_same_results(R"(graph "net" {
    input %x: float16[4,8]
    input %v: float16[8,3]
    %p = Softmax(%x) {axis=-1}
    %t = Transpose(%p) {perm=[0, 1]}
    %y = MatMul(%t, %v)
    output %y
  })",
                                                 {widen_halves}, 2e-3);
  EXPECT_EQ(count_nodes(graph, Op::Cast), 3);  // two inputs, one output
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.dtype, DType::Float16);
}

TEST(WidenHalves, KeepsWhatTheModelRounds) {
  const graph::Graph graph = expect_same_results(R"(graph "net" {
    input %x: float32[64]
    %h = Cast(%x) {to=10}
    %y = Cast(%h) {to=1}
    %n = Neg(%h)
    output %y
    output %n
  })",
                                                 {widen_halves}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Cast), 4);
}

TEST(WidenHalves, KeepsLargeParametersAndMovements) {
  const graph::Graph graph = expect_same_results(R"(graph "net" {
    input %x: bfloat16[2,128]
    parameter %w: bfloat16[128,64] = random(1)
    %t = Transpose(%x) {perm=[1, 0]}
    %u = Transpose(%t) {perm=[1, 0]}
    %y = MatMul(%u, %w)
    output %y
  })",
                                                 {widen_halves}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Cast), 0);
}

}  // namespace
}  // namespace tiffin::passes
