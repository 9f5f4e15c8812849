// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/eliminate_common.h"

#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;

TEST(EliminateCommon, ComputesEqualExpressionsOnce) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[4]
  input %z: float32[4]
  constant %one: float32[] = [1]
  constant %uno: float32[] = [1]
  %a = Add(%x, %z)
  %b = Add(%z, %x)
  %c = Mul(%a, %one)
  %d = Mul(%b, %uno)
  %e = LeakyRelu(%c) {alpha=0.5}
  %f = LeakyRelu(%d) {alpha=0.25}
  %y = Sub(%e, %f)
  output %y
})",
                                          {eliminate_common}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Add), 1);
  EXPECT_EQ(count_nodes(graph, Op::Mul), 1);
  EXPECT_EQ(count_nodes(graph, Op::LeakyRelu), 2);
}

TEST(EliminateCommon, NeverMergesParameters) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[4]
  parameter %p: float32[4] = [1, 2, 3, 4]
  parameter %q: float32[4] = [1, 2, 3, 4]
  %a = Mul(%x, %p)
  %b = Mul(%x, %q)
  %y = Add(%a, %b)
  output %y
})",
                                          {eliminate_common}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Mul), 2);
}

TEST(EliminateCommon, MergesOutputsAndDropsDeadNodes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[4]
  %a = Relu(%x)
  %b = Relu(%x)
  %dead = Exp(%x)
  output %a
  output %b
})",
                                          {eliminate_common}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Relu), 1);
  EXPECT_EQ(count_nodes(graph, Op::Exp), 0);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[1]);
}

}  // namespace
}  // namespace tiffin::passes
