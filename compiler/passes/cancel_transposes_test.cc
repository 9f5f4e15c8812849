// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/cancel_transposes.h"

#include "compiler/passes/equivalence_case.h"
#include "compiler/passes/simplify_graph.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;

TEST(CancelTransposes, RemovesAnIslandBetweenConvolutions) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[1,3,6,5]
  parameter %w: float32[4,3,3,3] = random(1)
  parameter %v: float32[2,4,1,1] = random(2)
  parameter %bias: float32[4] = random(3)
  parameter %plane: float32[6,5,1] = random(4)
  constant %pads: int64[8] = [0, 1, 0, 0, 0, 0, 2, 0]
  %c = Conv(%x, %w) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}
  %t = Transpose(%c) {perm=[0, 2, 3, 1]}
  %a = Add(%t, %bias)
  %m = Mul(%plane, %a)
  %r = Relu(%m)
  %p = Pad(%r, %pads) {mode="constant"}
  %u = Transpose(%p) {perm=[0, 3, 1, 2]}
  %y = Conv(%u, %v) {kernel_shape=[1, 1]}
  output %y
})",
                                          {cancel_transposes, simplify_graph}, 0);
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    EXPECT_TRUE(node.op != Op::Transpose || graph.is_constant(node.inputs[0])) << node.name;
  }
}

TEST(CancelTransposes, RemovesAResidualIslandWithBranches) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,4,6,5]
  constant %pixels: int64[2] = [1, 2]
  constant %begin: int64[1] = [1]
  constant %end: int64[1] = [3]
  constant %axis: int64[1] = [-1]
  %s = Sigmoid(%x)
  %t = Transpose(%s) {perm=[0, 2, 3, 1]}
  %z = MaxPool(%x) {kernel_shape=[1, 1]}
  %u = Transpose(%z) {perm=[0, 2, 3, 1]}
  %a = Add(%t, %u)
  %b = Concat(%a, %u) {axis=3}
  %c = Slice(%b, %begin, %end, %axis)
  %m = ReduceMean(%c, %pixels) {keepdims=1}
  %d = Mul(%c, %m)
  %g = ReduceMean(%d, %pixels) {keepdims=0}
  %e = Transpose(%d) {perm=[0, 3, 1, 2]}
  %y = AveragePool(%e) {kernel_shape=[2, 2]}
  output %y
  output %g
})",
                                          {cancel_transposes, simplify_graph}, 1e-6);
  EXPECT_EQ(count_nodes(graph, Op::Transpose), 0) << graph::print_graph(graph);
}

TEST(CancelTransposes, MovesOneTransposeBehindManyOperandsOnlyIfThatIsLess) {
  const Graph kept = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,4]
  %t = Transpose(%x) {perm=[0, 2, 1]}
  %a = Exp(%t)
  output %a
})",
                                         {cancel_transposes}, 0);
  EXPECT_EQ(count_nodes(kept, Op::Transpose), 1);
  const Graph joined = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,4]
  input %z: float32[2,3,4]
  %t = Transpose(%x) {perm=[0, 2, 1]}
  %u = Transpose(%z) {perm=[0, 2, 1]}
  %y = Add(%t, %u)
  output %y
})",
                                           {cancel_transposes}, 0);
  EXPECT_EQ(count_nodes(joined, Op::Transpose), 1);
}

}  // namespace
}  // namespace tiffin::passes
